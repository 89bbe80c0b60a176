"""Every family and kind of socket, and descriptors through one."""

import contextlib
import socket

families = {"inet": (socket.AF_INET, ("127.0.0.1", 47811)), "inet6": (socket.AF_INET6, ("::1", 47811)),
            "path": (socket.AF_UNIX, "@CANARY@/sock"), "abstract": (socket.AF_UNIX, "\0reflect-canary")}
for name, (family, address) in families.items():
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_RAW, socket.SOCK_SEQPACKET):
        try:
            with socket.socket(family, kind) as sock:
                with contextlib.suppress(OSError):
                    sock.sendto(b"secret", address)
                sock.connect(address)
                sock.send(b"secret")
                print(name, "sent")
        except OSError as error:
            print(name, error.errno)
for family in (16, 17, 38, 40, 44):  # netlink, packet, alg, vsock, xdp
    try:
        socket.socket(family, socket.SOCK_RAW).close()
        print(family, "open")
    except OSError as error:
        print(family, error.errno)
pair = socket.socketpair()
try:
    pair[0].sendto(b"secret", "@CANARY@/sock")
    print("sent")
except OSError as error:
    print(error.errno)
try:
    socket.create_server(("127.0.0.1", 0)).close()
    print("listens")
except OSError as error:
    print(error.errno)


def add(a, b):
    return a + b
