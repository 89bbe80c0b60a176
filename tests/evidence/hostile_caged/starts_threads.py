"""Five thousand sleeping threads."""

import threading
import time


def add(a, b):
    for _ in range(5_000):
        threading.Thread(target=time.sleep, args=(20,)).start()
    return a + b
