"""A line a moment, for as long as it may."""

def add(a, b):
    while True:
        print("line", a, b)
