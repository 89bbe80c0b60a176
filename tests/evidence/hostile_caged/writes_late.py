"""A process of its own session writes when all seems to be over."""

import os
import time

if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.closerange(0, 64)
        for _ in range(100):
            time.sleep(0.1)
            try:
                open("@CANARY@/home/late.txt", "w").close()
            except OSError:
                continue
    os._exit(0)


def add(a, b):
    return a + b
