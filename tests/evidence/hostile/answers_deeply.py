"""Values nested a hundred thousand deep, and such that hold themselves."""

def add(a, b):
    deep = []
    for _ in range(100_000):
        deep = [deep]
    if a > 0:
        deep = {}
        deep["itself"] = deep
    return deep
