"""Files in memory, which no limit on address space counts."""

import os

kept = []
try:
    for n in range(100):
        kept.append(os.memfd_create(str(n)))
        for _ in range(2):
            os.write(kept[-1], bytes(1 << 24))
except OSError as error:
    print(error)
print(len(kept))


def add(a, b):
    return a + b
