"""Ends the process with success in the middle of a call."""

import os
import threading
import time


def add(a, b):
    threading.Timer(0.05, os._exit, (0,)).start()
    time.sleep(20)
