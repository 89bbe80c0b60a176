"""The seccomp filter of levels 2 and 3: which system calls a confined process may make.

A deny list, made as classic BPF. What is refused answers EPERM, as if the process had no right to it: sockets (all but
a pair of connected streams, which asyncio and subprocesses need), looking into other processes, mounts and namespaces,
keys, BPF, io_uring (it goes round every filter), shared memory of others, files in memory (no limit counts them), the
machine's clock and modules. `clone3` and all calls younger than this list answer ENOSYS, so that the C library takes
the older call, whose flags can be read.

Standard library only: the warden imports it. Numbers are those of the kernel's headers.
"""

from __future__ import annotations

import errno
import struct
from collections.abc import Callable, Iterable, Mapping
from typing import TypedDict

_LOAD, _AND, _EQUAL, _OVER, _ANY_BIT, _RETURN = 0x20, 0x54, 0x15, 0x25, 0x45, 0x06
_ALLOW, _REFUSE = 0x7FFF0000, 0x00050000
_NEWEST = 452
_NAMESPACES = 0x7E020000
"""The flags CLONE_NEWNS, _NEWCGROUP, _NEWUTS, _NEWIPC, _NEWUSER, _NEWPID and _NEWNET."""
_OWNERS_OF_SIGNALS = (8, 10, 15)
"""fcntl's F_SETOWN, F_SETSIG and F_SETOWN_EX: the kernel then sends a signal in our name."""

Instruction = tuple[int, int, int, int]

ARCHITECTURES: Mapping[str, int] = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_COLUMNS = tuple(ARCHITECTURES)

_NUMBERS: Mapping[str, tuple[int | None, int | None]] = {
    "accept": (43, 202), "accept4": (288, 242), "acct": (163, 89), "add_key": (248, 217), "bind": (49, 200),
    "bpf": (321, 280), "chmod": (90, None), "chown": (92, None), "chroot": (161, 51), "clock_adjtime": (305, 266),
    "clock_settime": (227, 112), "clone": (56, 220), "clone3": (435, 435), "connect": (42, 203),
    "delete_module": (176, 106), "fanotify_init": (300, 262), "fanotify_mark": (301, 263), "fchmod": (91, 52),
    "fchmodat": (268, 53), "fchmodat2": (452, 452), "fchown": (93, 55), "fchownat": (260, 54), "fcntl": (72, 25),
    "finit_module": (313, 273), "fremovexattr": (199, 16), "fsconfig": (431, 431), "fsetxattr": (190, 7),
    "fsmount": (432, 432), "fsopen": (430, 430), "fspick": (433, 433), "futimesat": (261, None),
    "init_module": (175, 105), "inotify_add_watch": (254, 27), "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427), "io_uring_setup": (425, 425), "ioperm": (173, None), "iopl": (172, None),
    "ioprio_set": (251, 30), "kcmp": (312, 272), "kexec_file_load": (320, 294), "kexec_load": (246, 104),
    "keyctl": (250, 219), "kill": (62, 129), "lchown": (94, None), "listen": (50, 201), "lremovexattr": (198, 15),
    "lsetxattr": (189, 6), "memfd_create": (319, 279), "memfd_secret": (447, 447), "migrate_pages": (256, 238),
    "mount": (165, 40), "mount_setattr": (442, 442),
    "move_mount": (429, 429), "move_pages": (279, 239), "mq_open": (240, 180), "mq_unlink": (241, 181),
    "msgget": (68, 186), "name_to_handle_at": (303, 264), "open_by_handle_at": (304, 265), "open_tree": (428, 428),
    "perf_event_open": (298, 241), "pidfd_getfd": (438, 438), "pidfd_send_signal": (424, 424),
    "pivot_root": (155, 41), "prlimit64": (302, 261), "process_madvise": (440, 440), "process_mrelease": (448, 448),
    "process_vm_readv": (310, 270), "process_vm_writev": (311, 271), "ptrace": (101, 117), "quotactl": (179, 60),
    "quotactl_fd": (443, 443), "reboot": (169, 142), "removexattr": (197, 14), "request_key": (249, 218),
    "rt_sigqueueinfo": (129, 138), "rt_tgsigqueueinfo": (297, 240), "sched_setaffinity": (203, 122),
    "sched_setattr": (314, 274), "sched_setparam": (142, 118), "sched_setscheduler": (144, 119), "semget": (64, 190),
    "sendto": (44, 206), "setdomainname": (171, 162), "sethostname": (170, 161), "setns": (308, 268),
    "setpriority": (141, 140), "settimeofday": (164, 170), "setxattr": (188, 5), "shmat": (30, 196),
    "shmget": (29, 194), "socket": (41, 198), "socketpair": (53, 199), "swapoff": (168, 225), "swapon": (167, 224),
    "syslog": (103, 116), "tgkill": (234, 131), "tkill": (200, 130), "truncate": (76, 45), "umount2": (166, 39),
    "unshare": (272, 97), "userfaultfd": (323, 282), "utime": (132, None), "utimensat": (280, 88),
    "utimes": (235, None), "vhangup": (153, 58), "ioctl": (16, 29),
}  # fmt: skip

_MODES = ("chmod", "fchmod", "fchmodat", "fchmodat2", "utime", "utimes", "futimesat", "utimensat")
_ATTRIBUTES = (
    "chown", "fchown", "fchownat", "lchown", "setxattr", "lsetxattr", "fsetxattr", "removexattr", "lremovexattr",
    "fremovexattr",
)  # fmt: skip
_SOMETIMES = (
    "clone", "clone3", "socketpair", "sendto", "prlimit64", "sched_setaffinity", "sched_setattr", "sched_setparam",
    "sched_setscheduler", "setpriority", "truncate", "kill", "tgkill", "tkill", "rt_sigqueueinfo", "rt_tgsigqueueinfo",
    "pidfd_send_signal", "fcntl", "ioctl",
)  # fmt: skip
_ALWAYS = tuple(sorted(_NUMBERS.keys() - {*_MODES, *_ATTRIBUTES, *_SOMETIMES}))


class FilterOptions(TypedDict):
    """What a filter is made for: see `seccomp_filter`."""

    machine: str
    own_files_only: bool
    has_truncate: bool
    own_signals_only: bool


def seccomp_filter(
    machine: str, *, own_files_only: bool, has_truncate: bool, own_signals_only: bool, pid: int = 0
) -> bytes:
    """The filter as the kernel reads it, for a `machine` of `ARCHITECTURES`; raises KeyError for another.

    `own_files_only` is for processes that see the user's files: Landlock leaves modes, times, owners and extended
    attributes alone. Modes and times then answer success and stay as they are (copying a file sets them, and is no
    attack), owners and attributes are refused. Without `has_truncate` Landlock does not know truncation by path.
    With `own_signals_only` signals reach the process `pid` and its group alone: for a Landlock too old to scope them.
    """
    of = {name: numbers[_COLUMNS.index(machine)] for name, numbers in _NUMBERS.items()}
    body: list[Instruction] = []

    def refuse(names: Iterable[str], code: int = errno.EPERM) -> None:
        for number in (of[name] for name in names):
            if number is not None:
                body.extend([(_EQUAL, 0, 1, number), _answer(code)])

    def look(name: str, rule: Callable[[], list[Instruction]]) -> None:
        number, then = of[name], rule()
        if number is not None:
            body.extend([(_EQUAL, 0, len(then), number), *then])

    refuse(_ALWAYS)
    refuse(["clone3"], errno.ENOSYS)
    look("clone", lambda: [_argument(0), (_ANY_BIT, 0, 1, _NAMESPACES), _answer(errno.EPERM), _allow()])
    look("socketpair", lambda: [_argument(1), (_AND, 0, 0, 0xF), *_only([1])])
    look("sendto", lambda: [_argument(4), (_EQUAL, 0, 3, 0), _argument(4, high=True), *_only([0])])
    for name in ("prlimit64", "sched_setaffinity", "sched_setattr", "sched_setparam", "sched_setscheduler"):
        look(name, lambda: [_argument(0), *_only([0])])
    look("setpriority", lambda: [_argument(0), (_EQUAL, 0, 3, 0), _argument(1), *_only([0])])
    if own_files_only:
        refuse(_ATTRIBUTES)
        refuse(_MODES, 0)
    if not has_truncate:
        refuse(["truncate"])
    if own_signals_only:
        refuse(["pidfd_send_signal"])
        look("kill", lambda: [_argument(0), *_only([0, pid, -pid & 0xFFFFFFFF])])
        for name in ("tgkill", "tkill", "rt_sigqueueinfo", "rt_tgsigqueueinfo"):
            look(name, lambda: [_argument(0), *_only([pid])])
        look("fcntl", lambda: [_argument(1), *_never(_OWNERS_OF_SIGNALS)])
        look("ioctl", lambda: [_argument(1), *_never((0x8901, 0x8902))])
    head = [(_LOAD, 0, 0, 4), (_EQUAL, 1, 0, ARCHITECTURES[machine]), _answer(errno.EPERM), (_LOAD, 0, 0, 0)]
    head += [(_OVER, 0, 1, _NEWEST), _answer(errno.ENOSYS)]  # the x32 calls of x86_64 have numbers above, too
    return b"".join(struct.pack("=HBBI", *each) for each in (*head, *body, _allow()))


def _argument(index: int, *, high: bool = False) -> Instruction:
    return (_LOAD, 0, 0, 16 + 8 * index + 4 * high)


def _answer(code: int) -> Instruction:
    return (_RETURN, 0, 0, _REFUSE | code)


def _allow() -> Instruction:
    return (_RETURN, 0, 0, _ALLOW)


def _only(values: Iterable[int]) -> list[Instruction]:
    """Allows these values of what was loaded, refuses all others."""
    return [step for value in values for step in ((_EQUAL, 0, 1, value), _allow())] + [_answer(errno.EPERM)]


def _never(values: Iterable[int]) -> list[Instruction]:
    """Refuses these values of what was loaded, allows all others."""
    return [step for value in values for step in ((_EQUAL, 0, 1, value), _answer(errno.EPERM))] + [_allow()]
