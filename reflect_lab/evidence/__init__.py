"""Evidence: what sources outside the generator report on a draft. `gather.Checks` is what the loop calls."""
