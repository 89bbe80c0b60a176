"""200 MB of memory."""

def add(a, b):
    room = bytearray(b"x") * 200_000_000
    return a + b + room.count(b"y")
