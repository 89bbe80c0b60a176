"""Swallows every exception and goes on sleeping."""

import time


def add(a, b):
    while True:
        try:
            time.sleep(60)
        except BaseException:
            continue
