"""Calls itself without an end, with the limit of recursion out of the way."""

import sys

sys.setrecursionlimit(10**9)


def add(a, b):
    return add(b, a) + 0
