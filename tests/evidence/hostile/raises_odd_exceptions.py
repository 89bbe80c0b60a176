"""Exceptions whose class, text, notes and causes are traps."""

class Odd(BaseException):
    def __str__(self):
        raise self

    __repr__ = __str__
    __traceback__ = property(lambda self: 1 / 0)


Odd.__name__ = "x" * 1_000_000


def add(a, b):
    error = Odd("x")
    error.__cause__ = error
    raise error
