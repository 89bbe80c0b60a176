"""The warden: a small process between us and a caged one. It sets the limits, waits, and ends all that was begun.

It runs as a process of its own (`cage` says how) and uses the standard library and its neighbours alone. As the
sub-reaper of everything below it, it is the parent of every orphan, so a daemon cannot leave: it is killed by descent,
not by group. It watches its standard input, which only the process that started it holds open: at its end (also when
that process dies) all is killed. Its one line of report goes to a descriptor that the caged process never has.
"""

from __future__ import annotations

import marshal
import os
import select
import sys
import time

TYPE_CHECKING = False  # every check starts this file: `typing`, `collections` and `enum` would cost it milliseconds
if TYPE_CHECKING:
    import signal
    from collections.abc import Callable, Mapping
    from typing import Any
else:
    import _signal as signal  # the same without the enums

_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_CAPBSET_DROP, _PR_SET_CHILD_SUBREAPER, _PR_SET_NO_NEW_PRIVS = 1, 4, 24, 36, 38
_WATCH_S = 0.25
_WATCH_CLOSELY_S = 0.02
_KILL_S = 2.0
_TIDYING_S = 0.1
_LISTS = 3
_NEIGHBOURS = 1024
"""How many processes and threads a user's other programs may start meanwhile without taking ours away."""


def descendants(root: int) -> list[int]:
    """The processes below `root`, by /proc; those that ended are left out. Empty where there is no /proc."""
    return _tree(root)[0]


def _tree(root: int) -> tuple[list[int], set[int]]:
    """The living processes below `root`, and those beside them that ended and are not collected yet."""
    children: dict[int, list[tuple[int, bool]]] = {}
    try:
        entries = os.listdir("/proc")
    except OSError:
        return [], set()
    for entry in entries:
        if not entry.isdigit():
            continue
        try:
            with open(f"/proc/{entry}/stat", "rb") as stat:
                fields = stat.read().rpartition(b")")[2].split()
        except OSError:
            continue  # it ended while we looked
        if len(fields) > 20:
            children.setdefault(int(fields[1]), []).append((int(entry), _is_living(fields)))
    living: list[int] = []
    ended: set[int] = set()
    queue = [root]
    while queue:
        for pid, is_living in children.get(queue.pop(), []):
            queue.append(pid)
            if is_living:
                living.append(pid)
            else:
                ended.add(pid)
    return living, ended


def _is_living(fields: list[bytes]) -> bool:
    """Whether a process can still do something, by its state, its number of threads and the size of its memory. The
    first thread may have left before the others; one without memory has left its program and only tidies up."""
    return int(fields[17]) > 1 or (fields[0] not in b"ZX" and fields[20] != b"0")


def times_of(living: list[int]) -> tuple[float, float]:
    """Of these below us: the seconds that they ran, and how long at most one of their threads was ready to run without
    a processor (added to our own wait, before the first of them began). Zero where the system tells nothing."""
    ran, waited = 0.0, 0.0
    for pid in living:
        times = _thread_times(pid)
        ran += sum(time for time, _ in times)
        waited = max([waited, *(time for _, time in times)])
    return ran, waited + max((time for _, time in _thread_times(os.getpid())), default=0.0)


def _thread_times(pid: int) -> list[tuple[float, float]]:
    """For each thread of a process the seconds that it ran and that it waited for a processor."""
    times = []
    try:
        for thread in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{thread}/schedstat", "rb") as line:
                ran, waited, _ = line.read().split()
                times.append((int(ran) / 1e9, int(waited) / 1e9))
    except (OSError, ValueError):
        return times  # it ended while we looked, or this kernel keeps no such times
    return times


def send(pid: int, number: int) -> None:
    """A signal to a process that may be gone, or may have become another user's."""
    try:
        os.kill(pid, number)
    except (ProcessLookupError, PermissionError):
        return


def kill_below(root: int, reap: Callable[[], bool] | None = None, patience_s: float = _KILL_S) -> int:
    """Kills everything below `root`; returns how many processes were there at first. `reap` collects those that are
    children of this process, where they are, and says whether one is left.

    All are stopped before any is killed, so that a fork bomb can't outrun the list. One that ended may have left a
    child that was too young to stand in the list, and a list is not made in one moment: it is the end where no child is
    left, or where several lists in turn show nobody living and nobody who ended since. Memory that is given back takes
    its time; for that we wait a little only.
    """
    first, settled, before = -1, 0, set[int]()
    started = time.monotonic()
    while (passed := time.monotonic() - started) < patience_s:
        living, ended = _tree(root)
        first = len(living) if first < 0 else first
        for number in (signal.SIGSTOP, signal.SIGKILL):
            for pid in living:
                send(pid, number)
        if reap is not None and not reap():
            break
        settled = settled + 1 if not living and ended <= before else 0
        if settled >= _LISTS and (reap is None or passed > _TIDYING_S):
            break
        before = ended
        time.sleep(0.002)  # a killed process needs a moment to leave the list
    return max(first, 0)


def _kill_group(leader: int) -> None:
    """Where there is no /proc to find descendants in, the child's own group is what can be ended."""
    try:
        os.killpg(leader, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return


class Reaper:
    """Collects the children that ended, and adds up what they used: CPU seconds, and the peak memory of one in KiB."""

    def __init__(self) -> None:
        self.statuses: dict[int, int] = {}
        self.cpu_s = 0.0
        self.rss_kib = 0

    def reap(self) -> bool:
        """Whether a child is left. A sub-reaper without children has nothing below it: what is below a child that
        ended is its child then."""
        while True:
            try:
                pid, status, usage = os.wait4(-1, os.WNOHANG)
            except ChildProcessError:
                return False
            if pid == 0:
                return True
            self.statuses[pid] = status
            self.cpu_s += usage.ru_utime + usage.ru_stime
            self.rss_kib = max(self.rss_kib, usage.ru_maxrss)


def _prctl(*settings: tuple[int, int]) -> None:
    """Sets what the kernel holds of this process; what it does not know stays as it is."""
    if sys.platform != "linux":
        return
    import ctypes

    prctl = ctypes.CDLL(None, use_errno=True).prctl
    for option, value in settings:
        prctl(option, value, 0, 0, 0)


def _user_threads() -> int:
    """How many threads the user runs now: RLIMIT_NPROC counts them all, not only ours."""
    user, total = os.getuid(), 0
    for entry in os.listdir("/proc") if os.path.isdir("/proc") else []:
        try:
            if entry.isdigit() and os.stat(f"/proc/{entry}").st_uid == user:
                total += len(os.listdir(f"/proc/{entry}/task"))
        except OSError:
            continue  # it ended while we looked
    return total


def _become(
    limits: Mapping[str, int], confinement: Mapping[str, Any], descriptors: Mapping[str, int], command: list[str]
) -> None:
    """In the forked child: own session, limits, confinement, descriptors; then the command. Never returns normally."""
    is_external = "is_external" in confinement  # the user's own tool: it may need more than a draft, and new rights
    os.setsid()
    _prctl((_PR_SET_PDEATHSIG, signal.SIGKILL), *([] if is_external else [(_PR_SET_NO_NEW_PRIVS, 1)]))
    os.dup2(descriptors["job"], 0)
    if is_external:
        os.dup2(descriptors["result"], 1)
    else:
        _limit(limits)
        os.set_inheritable(descriptors["result"], True)
        command = _confined(confinement, command) if confinement else command
    os.execv(command[0], command)


def _limit(limits: Mapping[str, int]) -> None:
    import resource

    wanted = {
        resource.RLIMIT_CPU: limits["cpu_s"],
        resource.RLIMIT_AS: limits["memory_bytes"],
        resource.RLIMIT_FSIZE: limits["file_bytes"],
        resource.RLIMIT_NOFILE: limits["open_files"],
        resource.RLIMIT_CORE: 0,
    }
    if os.getuid() != 0:  # root is not bound by it
        # It counts all that the user runs, so it can only stop a flood; the warden counts this check's own processes.
        wanted[resource.RLIMIT_NPROC] = _user_threads() + 4 * limits["processes"] + _NEIGHBOURS
    for which, value in wanted.items():
        _, hard = resource.getrlimit(which)
        value = value if hard == resource.RLIM_INFINITY else min(value, hard)
        # One second between the soft and the hard limit of CPU time: the first says why (SIGXCPU), the second insists.
        over = 1 if which == resource.RLIMIT_CPU and (hard == resource.RLIM_INFINITY or value < hard) else 0
        resource.setrlimit(which, (value, value + over))


def _confined(confinement: Mapping[str, Any], command: list[str]) -> list[str]:
    """Takes rights away from this process at level 2; at level 3 bubblewrap does it. Returns the command to execute."""
    program = confinement["filter"]
    if not program:  # it must know this process's id
        from reflect_lab.evidence.sandbox import syscalls

        program = syscalls.seccomp_filter(**confinement["filter_options"], pid=os.getpid())
    if "bwrap" in confinement:
        descriptor = os.memfd_create("seccomp", 0)
        os.write(descriptor, program)
        os.lseek(descriptor, 0, os.SEEK_SET)
        bwrap = confinement["bwrap"]
        return [bwrap[0], "--seccomp", str(descriptor), *bwrap[1:], "--", *command]
    from reflect_lab.evidence.sandbox import landlock

    # Without capabilities root is an ordinary user after the exec.
    _prctl(*((_PR_CAPBSET_DROP, capability) for capability in range(64)))
    landlock.restrict(**confinement["landlock"])
    landlock.install_filter(program)
    return command


def _start(
    limits: Mapping[str, int],
    confinement: Mapping[str, Any],
    descriptors: Mapping[str, int],
    command: list[str],
    nonce: str,
) -> int:
    child = os.fork()
    if child:
        return child
    try:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        _become(limits, confinement, descriptors, command)
    except BaseException as error:
        os.write(descriptors["status"], f"{nonce} not_started {type(error).__name__}:{error}\n".encode())
    os._exit(126)


def _watch(child: int, reaper: Reaper, wake: int, limits: Mapping[str, int], disk: os.statvfs_result | None) -> str:
    """Waits until the child ends, we are told to stop, or all together use too much; says which. `disk` is what the
    file system of the home was like before it began; None where neither memory nor disk is limited."""
    pause = _WATCH_S
    while True:
        ready, _, _ = select.select([0, wake], [], [], pause)
        if wake in ready:
            os.read(wake, 512)
        reaper.reap()
        if child in reaper.statuses:
            return "ended"
        if 0 in ready:
            return "stopped"
        living = descendants(os.getpid())
        if len(living) > limits["processes"]:
            return "processes"
        if disk is None:
            continue
        from reflect_lab.evidence.sandbox import totals  # most checks end before they come here

        memory = totals.memory_bytes(living, limits["memory_bytes"])
        if memory > limits["memory_bytes"]:
            return "memory"
        if totals.is_disk_over(disk, living, limits["disk_bytes"], limits["files"]):
            return "disk"
        pause = _WATCH_CLOSELY_S if memory > limits["memory_bytes"] // 4 else _WATCH_S


def main(arguments: list[str]) -> None:
    """`JOB RESULT STATUS ORDERS COMMAND…`: three descriptors, limits and confinement (marshalled, in hexadecimal: the
    one form that needs no import and that the same Python wrote), and what to run.
    The report's nonce is the first line of standard input."""
    descriptors = dict(zip(("job", "result", "status"), map(int, arguments[:3]), strict=True))
    orders, command = marshal.loads(bytes.fromhex(arguments[3])), arguments[4:]
    limits, confinement = orders["limits"], orders["confinement"]
    nonce = os.read(0, 64).decode().strip()
    for descriptor in descriptors.values():
        os.set_inheritable(descriptor, False)
    # Not dumpable: other processes of this user can't look into our memory and descriptors.
    _prctl((_PR_SET_CHILD_SUBREAPER, 1), (_PR_SET_DUMPABLE, 0))
    wake, waker = os.pipe()
    os.set_blocking(wake, False)
    os.set_blocking(waker, False)
    signal.set_wakeup_fd(waker, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    disk = None if "is_external" in confinement else os.statvfs(".")  # we are in the program's home
    child = _start(limits, confinement, descriptors, command, nonce)
    for name in ("job", "result"):
        os.close(descriptors[name])
    reaper = Reaper()
    how = _watch(child, reaper, wake, limits, disk)
    is_alone = how == "ended" and sys.platform == "linux" and not reaper.reap()
    ran_s, waited = times_of([] if is_alone else descendants(os.getpid()))
    left = 0 if is_alone else kill_below(os.getpid(), reaper.reap)
    if sys.platform != "linux":
        _kill_group(child)
    cpu_s = reaper.cpu_s if how == "ended" else max(ran_s, reaper.cpu_s)
    code = os.waitstatus_to_exitcode(reaper.statuses[child]) if how == "ended" else 0
    if "bwrap" in confinement and 128 < code < 128 + signal.NSIG:  # how bubblewrap tells of a signal below it
        code = 128 - code
    report = f"{nonce} {how} {code} {cpu_s:.3f} {reaper.rss_kib} {left} {waited:.3f}\n"
    os.write(descriptors["status"], report.encode())
    os._exit(0)  # nothing is left to be tidied, and the caller waits
