"""Takes another name, forbids to be looked at, and leaves a child that does so too."""

import ctypes
import os
import time

c = ctypes.CDLL(None)
c.prctl(4, 0, 0, 0, 0)  # not dumpable
c.prctl(15, b"kworker) S 1 (", 0, 0, 0)
if os.fork() == 0:
    os.setsid()
    c.prctl(15, b"a) Z 1 1 (b", 0, 0, 0)
    if os.fork() == 0:
        time.sleep(20)
    os._exit(0)


def add(a, b):
    return a + b
