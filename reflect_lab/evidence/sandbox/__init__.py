"""Where code of others runs. `cage.run` starts a process with limits, reads its answers and ends all that it began."""
