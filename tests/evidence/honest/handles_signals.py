"""A handler, and an alarm that cuts a wait short."""

import signal
import subprocess


def add(a, b):
    rung = []
    signal.signal(signal.SIGALRM, lambda *_: rung.append(b))
    signal.setitimer(signal.ITIMER_REAL, 0.01)
    signal.pause()
    return a + rung[0] + subprocess.run(["true"], check=True).returncode
