"""Reaches for a secret by other ways to write its path."""

import contextlib
import os

paths = ["@CANARY@/home/notes.txt", "/proc/self/root@CANARY@/home/notes.txt", "/proc/1/root@CANARY@/home/notes.txt",
         "../outside/home/notes.txt", "../../outside/home/notes.txt", "@CANARY@/home/../home/./notes.txt"]
for path in paths:
    for read in (lambda p: open(p).read(), lambda p: os.listdir(os.path.dirname(p)), os.readlink, os.getxattr):
        try:
            print(read(path, "user.note") if read is os.getxattr else read(path))
        except OSError as error:
            print(error.errno)
with contextlib.suppress(OSError):
    os.chroot(".")
with contextlib.suppress(OSError):
    print(open(os.open("@CANARY@", os.O_PATH), closefd=False).name)


def add(a, b):
    return a + b
