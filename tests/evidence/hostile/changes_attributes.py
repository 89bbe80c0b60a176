"""Modes, times, owners, attributes, locks and sizes of the user's files."""

import fcntl
import os
import stat

for path in ("@CANARY@/home/notes.txt", "@CANARY@/home", "@CANARY@"):
    for change in (
        lambda p: os.chmod(p, 0o777),
        lambda p: os.utime(p, (1, 1)),
        lambda p: os.chown(p, os.getuid(), os.getgid()),
        lambda p: os.setxattr(p, "user.note", b"pwned"),
        lambda p: os.truncate(p, 0),
        lambda p: os.mknod(p + "/node", stat.S_IFREG | 0o600),
        lambda p: os.mkfifo(p + "/pipe"),
        lambda p: os.mkfifo(p + ".pipe"),
        lambda p: fcntl.flock(os.open(p, os.O_RDWR), fcntl.LOCK_EX),
        lambda p: os.utime(os.open(p, os.O_PATH), (1, 1)),
        lambda p: os.fchmod(os.open(p, os.O_RDONLY), 0),
    ):
        try:
            change(path)
            print("done")
        except OSError as error:
            print(error.errno)


def add(a, b):
    return a + b
