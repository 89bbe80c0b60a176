"""Prints a file of the user."""

try:
    with open("@CANARY@/home/notes.txt") as file:
        print(file.read())
except OSError as error:
    print(error.errno)


def add(a, b):
    return a + b
