"""A million empty lines."""

import sys

for _ in range(1_000):
    sys.stdout.write("\n" * 1_000)


def add(a, b):
    return a + b
