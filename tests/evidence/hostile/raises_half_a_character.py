"""An exception that no encoder takes."""


def add(a, b):
    raise ValueError("\ud800 \x00")
