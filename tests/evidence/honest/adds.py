"""Nothing but the answer."""

def add(a, b):
    return a + b
