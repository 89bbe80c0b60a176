"""A chain of children, each born when the one before it ends, for twenty seconds."""

import os
import time

end = time.monotonic() + 20
if os.fork() == 0:
    os.setsid()
    while time.monotonic() < end:
        if os.fork() != 0:
            os._exit(0)
    os._exit(0)


def add(a, b):
    return a + b
