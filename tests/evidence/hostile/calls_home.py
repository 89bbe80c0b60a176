"""Sends to a port of this machine."""

import socket

for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
    try:
        with socket.socket(type=kind) as sock:
            sock.connect(("127.0.0.1", 47811))
            sock.send(b"secret")
    except OSError as error:
        print(error.errno)


def add(a, b):
    return a + b
