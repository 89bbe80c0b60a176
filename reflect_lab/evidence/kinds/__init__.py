"""The other kinds of checks, a file each."""
