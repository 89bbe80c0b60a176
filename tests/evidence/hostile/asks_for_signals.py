"""Asks whether its parent would take a signal; sends none."""

import os

try:
    os.kill(os.getppid(), 0)
    print("the parent can be signalled" if os.getppid() != 1 else "the parent is the cage's own")
except OSError as error:
    print(error.errno)


def add(a, b):
    return a + b
