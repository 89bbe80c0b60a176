"""Writes beside, over and into the user's files."""

import os

for path in ("@CANARY@/home/new", "@CANARY@/home/notes.txt"):
    try:
        os.chmod("@CANARY@", 0)
        with open(path, "w") as file:
            file.write("pwned")
    except OSError as error:
        print(error.errno)


def add(a, b):
    return a + b
