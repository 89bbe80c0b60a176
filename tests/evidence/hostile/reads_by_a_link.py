"""Leaves links to the user's files where a harness may collect them, and reads through them."""

import os

try:
    os.symlink("@CANARY@/home/notes.txt", "result.txt")
    with open("result.txt") as file:
        print(file.read())
except OSError as error:
    print(error.errno)


def add(a, b):
    return a + b
