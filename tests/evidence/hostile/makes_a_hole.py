"""A file of a terabyte that is nearly empty."""

import os

for size in (1 << 40, 1 << 62):
    try:
        with open("hole", "wb") as file:
            os.ftruncate(file.fileno(), size)
        print("made")
    except (OSError, OverflowError) as error:
        print(error)


def add(a, b):
    return a + b
