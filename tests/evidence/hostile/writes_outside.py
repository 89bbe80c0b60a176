"""Writes beside, over and into the user's files."""

import os

for path in ("@OUTSIDE@/new", "@OUTSIDE@/key"):
    try:
        os.chmod("@OUTSIDE@", 0)
        with open(path, "w") as file:
            file.write("pwned")
    except OSError as error:
        print(error.errno)


def add(a, b):
    return a + b
