"""Asks for 4 GiB, 64 MiB at a time."""


def add(a, b):
    kept = [bytearray(64 << 20) for _ in range(64)]
    return a + b + 0 * len(kept)
