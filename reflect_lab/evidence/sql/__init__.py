"""The sql check: one SELECT on a copy, its rows, its plan, its totals."""
