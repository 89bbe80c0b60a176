"""Leaves files in the places where every program may write."""

import os
import tempfile

for folder in ("/tmp", "/var/tmp", "/dev/shm", "/run", "/var/lock", "/dev/mqueue", "/proc/self", os.path.dirname(os.getcwd())):
    try:
        print(tempfile.mkstemp(dir=folder, prefix="reflect-lab-canary-"))
    except OSError as error:
        print(error.errno)
try:
    with open("/proc/self/oom_score_adj", "w") as file:
        file.write("-1000")
except OSError as error:
    print(error.errno)


def add(a, b):
    return a + b
