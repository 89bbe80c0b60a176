"""The python check: asserts whose calls a caged process performs, judged here."""
