"""Becomes the one that orphans go to, and keeps them."""

import ctypes
import os
import time

ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)
for _ in range(5):
    if os.fork() == 0:
        os.setsid()
        for _ in range(3):
            os.fork()
        time.sleep(20)
        os._exit(0)


def add(a, b):
    return a + b
