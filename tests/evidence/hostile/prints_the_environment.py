"""Looks for keys."""

import os

print(dict(os.environ), os.getenv("OPENAI_API_KEY"))


def add(a, b):
    return a + b
