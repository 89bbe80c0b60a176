"""A mistake in its syntax: an honest failure."""

def add(a, b)
    return a + b
