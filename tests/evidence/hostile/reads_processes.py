"""Prints the environment of every process that it can see."""

import os

try:
    for entry in os.listdir("/proc"):
        if entry.isdigit() and int(entry) != os.getpid():
            with open(f"/proc/{entry}/environ") as file:
                print(file.read())
except OSError as error:
    print(error.errno)


def add(a, b):
    return a + b
