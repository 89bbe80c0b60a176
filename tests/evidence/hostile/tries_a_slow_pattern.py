"""A regular expression that takes exponential time, in one call of C."""

import re


def add(a, b):
    re.match(r"(a|aa)+$", "a" * 60 + "!")
    return a + b
