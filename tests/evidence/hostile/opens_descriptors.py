"""Descriptors of every kind, until there is none left."""

import contextlib
import os

kept = []
for _ in range(2_000):
    with contextlib.suppress(OSError):
        kept.extend(os.pipe())
    with contextlib.suppress(OSError):
        kept.append(os.eventfd(0))
    with contextlib.suppress(OSError):
        kept.append(os.dup(2))
print(len(kept))
for descriptor in kept:
    os.close(descriptor)


def add(a, b):
    return a + b
