"""A grandchild keeps every pipe of the check open and says nothing."""

import os
import time

if os.fork() == 0:
    if os.fork() == 0:
        time.sleep(20)
    os._exit(0)


def add(a, b):
    return a + b
