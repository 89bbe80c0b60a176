"""Fifty files of 60 MiB each."""

import os

for n in range(50):
    with open(f"part{n}", "wb") as file:
        for _ in range(60):
            file.write(os.urandom(64) * (1 << 14))


def add(a, b):
    return a + b
