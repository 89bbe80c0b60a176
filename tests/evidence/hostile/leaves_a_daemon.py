"""A grandchild in a session of its own goes on when the check is over."""

import os

if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.execvp("sleep", ["reflect-lab-hostile-daemon", "20"])
    os._exit(0)


def add(a, b):
    return a + b
