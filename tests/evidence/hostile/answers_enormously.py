"""Values of megabytes, and texts that grow when they are written down."""

def add(a, b):
    return "\x00" * (40 << 20) if a > 0 else [["\ud800" * 1_000] * 1_000] * 1_000
