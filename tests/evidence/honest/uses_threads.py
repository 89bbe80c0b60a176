"""Threads, a pool of them, locks and a queue."""

import queue
import threading
from concurrent.futures import ThreadPoolExecutor


def add(a, b):
    answers = queue.Queue()
    threads = [threading.Thread(target=answers.put, args=(n,)) for n in (a, b)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with ThreadPoolExecutor(8) as pool:
        return sum(pool.map(int, [answers.get(), answers.get()]))
