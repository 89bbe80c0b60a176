"""Writes one file of up to 256 MiB."""

with open("big", "wb") as file:
    for _ in range(256):
        file.write(bytes(1 << 20))


def add(a, b):
    return a + b
