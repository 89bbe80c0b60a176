"""Thousands of watches on files, and of timers."""

import ctypes
import os

c = ctypes.CDLL(None)
descriptors = [c.inotify_init() for _ in range(1_000)]
watches = [c.inotify_add_watch(descriptors[0], f"{os.getcwd()}".encode(), 1 << n) for n in range(12)]
print(max(descriptors), watches)


def add(a, b):
    return a + b
