"""Five thousand calls deep."""

import sys

sys.setrecursionlimit(20_000)


def count(n):
    return 0 if n == 0 else 1 + count(n - 1)


def add(a, b):
    return count(5_000) - 5_000 + a + b
