"""Prints a file of the user."""

try:
    with open("@OUTSIDE@/key") as file:
        print(file.read())
except OSError as error:
    print(error.errno)


def add(a, b):
    return a + b
