"""Traces on disk: the event log (truth), the reader that folds it into runs, and the DuckDB index beside it."""
