"""Chains of children side by side, each with a sleeper at its side."""

import os
import time

end = time.monotonic() + 20
for _ in range(6):
    if os.fork() == 0:
        os.setsid()
        for n in range(100_000):
            if time.monotonic() > end:
                os._exit(0)
            if n % 500 == 250 and os.fork() == 0:
                time.sleep(0.2)
                os._exit(0)
            if os.fork() != 0:
                os._exit(0)
        os._exit(0)


def add(a, b):
    return a + b
