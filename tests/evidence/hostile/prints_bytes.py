"""Bytes that are no text."""

import os

os.write(1, b"\xff\x00\xed\xa0\x80\x1b]0;title\x07\n")


def add(a, b):
    return a + b
