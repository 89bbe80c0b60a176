"""A child whose first thread leaves: it looks like one that ended."""

import ctypes
import os
import threading
import time

if os.fork() == 0:
    if os.fork() == 0:
        threading.Thread(target=time.sleep, args=(20,)).start()
        ctypes.CDLL(None).syscall({"x86_64": 60, "aarch64": 93}[os.uname().machine], 0)
    os._exit(0)
time.sleep(0.2)


def add(a, b):
    return a + b
