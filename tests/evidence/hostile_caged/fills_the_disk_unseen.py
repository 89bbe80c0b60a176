"""Fifty files of 60 MiB each that have no name any more."""

import tempfile

kept = []
for _ in range(50):
    kept.append(tempfile.TemporaryFile())
    for _ in range(60):
        kept[-1].write(b"x" * (1 << 20))
    kept[-1].flush()


def add(a, b):
    return a + b
