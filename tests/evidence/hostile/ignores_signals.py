"""No signal that can be caught ends it, and its alarms go off all the time."""

import signal
import time

for number in range(1, signal.NSIG):
    try:
        signal.signal(number, lambda *_: None)
    except (OSError, ValueError):
        continue
signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)


def add(a, b):
    while True:
        time.sleep(1)
