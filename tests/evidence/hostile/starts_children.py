"""Starts 100 sleeping children."""

import os
import time


def add(a, b):
    for _ in range(100):
        if os.fork() == 0:
            time.sleep(20)
            os._exit(0)
    time.sleep(20)
    return a + b
