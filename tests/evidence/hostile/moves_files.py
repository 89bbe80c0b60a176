"""Moves, links and exchanges files of its own and of the user."""

import ctypes
import os

with open("mine", "w") as file:
    file.write("pwned")
os.mkdir("folder")
c = ctypes.CDLL(None, use_errno=True)
theirs = "@CANARY@/home/notes.txt"
for move in (
    lambda: os.link(theirs, "hard"),
    lambda: os.link("mine", "@CANARY@/home/hard"),
    lambda: os.rename("mine", theirs),
    lambda: os.rename(theirs, "stolen"),
    lambda: os.replace("folder", "@CANARY@/home"),
    lambda: os.symlink("/etc/passwd", "@CANARY@/home/link"),
    lambda: print(c.renameat2(-100, b"mine", -100, theirs.encode(), 2), ctypes.get_errno()),
    lambda: print(c.linkat(os.open(theirs, os.O_PATH), b"", -100, b"taken", 0x1000), ctypes.get_errno()),
    lambda: os.unlink(theirs),
    lambda: os.rmdir("@CANARY@/home/.config"),
    lambda: os.open("@CANARY@/home", os.O_TMPFILE | os.O_WRONLY),
):
    try:
        move()
        print("done")
    except OSError as error:
        print(error.errno)


def add(a, b):
    return a + b
