"""Runs folders of hostile programs through the `python` check, each level of the sandbox in turn, in an outer cage.

`sudo python scripts/hostile.py FOLDER… [--levels 2 3] [--abi 1 5] [--json FILE]`. A folder holds `index.json`
(`items: [{id, cat, right, file}]`) and the programs, each a solution of `add(a, b)`. An item is right where its verdict
is one of `right` (any, where it says none) and no effect was seen: a secret in the text, a file or a process of the
user changed, a listener reached, somebody alive one second later, too late a verdict, too much text, memory or files.
The category `benign` holds honest programs, `forge…` wrong ones that claim to be right. At level W a hostile program
may also be refused (`blocked`); an honest one that is refused is counted as not served.

The cage: own mount, process, network and IPC namespaces, a sized tmpfs as /tmp and /dev/shm, limits on processes and
memory where cgroups can be written, a throw-away user. It needs root to build it; no program ever runs as root.
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import json
import os
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
USER = 64_907
ITEM = ROOT / "scripts" / "hostile_item.py"
OWN = [ROOT / "tests" / "evidence" / name for name in ("hostile", "hostile_caged", "honest")]
ITEM_S = 60
MEMORY_OVER = 1_181_116_006  # 1.1 GiB


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpora", type=Path, nargs="*", default=OWN, metavar="corpus")
    parser.add_argument("--levels", nargs="*", default=["2", "3"], choices=["1", "2", "3", "W"])
    parser.add_argument("--abi", type=int, nargs="+", default=[], help="also level 2 as if Landlock had this version")
    parser.add_argument("--only", nargs="+", help="these items alone")
    parser.add_argument("--json", type=Path, help="write all that was seen to this file")
    parser.add_argument("--caged", metavar="CGROUPS", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.caged is not None:
        print(json.dumps(inside(options, options.caged.split(":") if options.caged else [])))
        return 0
    if os.geteuid() != 0 or sys.platform != "linux":
        print(
            "the outer cage is built with root's rights on Linux; run it with sudo, or in a container", file=sys.stderr
        )
        return 2
    groups = control_groups()
    try:
        again = [sys.executable, "-P", str(Path(__file__).resolve()), *sys.argv[1:], "--caged", ":".join(groups)]
        cage = ["unshare", "-m", "-p", "-n", "-i", "--fork", "--kill-child", "--mount-proc", *again]
        done = subprocess.run(cage, stdout=subprocess.PIPE, check=True)
    finally:
        for group in groups:
            with contextlib.suppress(OSError):
                os.rmdir(group)
    seen = json.loads(done.stdout)
    if options.json:
        options.json.write_text(json.dumps(seen, indent=1))
    return report(seen, bool(groups))


def control_groups() -> list[str]:
    """Groups that limit the cage to 400 processes and 5 GB, where this machine lets us make them (cgroup 1 or 2)."""
    wanted = {"pids": ("pids.max", "400"), "memory": ("memory.limit_in_bytes", str(5 << 30))}
    base, made = Path("/sys/fs/cgroup"), []
    for name, (file, value) in wanted.items():
        group = base / name / f"reflect-lab-{os.getpid()}"
        with contextlib.suppress(OSError):
            group.mkdir()
            made.append(str(group))
            (group / file).write_text(value)
    if not made:
        group = base / f"reflect-lab-{os.getpid()}"
        with contextlib.suppress(OSError):
            group.mkdir()
            made.append(str(group))
            (group / "pids.max").write_text("400")
            (group / "memory.max").write_text(str(5 << 30))
    return made


def inside(options: argparse.Namespace, groups: list[str]) -> list[dict[str, object]]:
    """As process 1 of the cage: builds the rest of it, and runs every item in a process of its own."""
    for group in groups:
        Path(group, "cgroup.procs").write_text("0")
    subprocess.run(["mount", "--make-rprivate", "/"], check=True)
    items = [item for corpus in options.corpora for item in read(corpus, options.only)]
    show_to_all((sys.base_prefix, sys.prefix, str(ROOT)))
    for place, size in (("/tmp", "1500M"), ("/dev/shm", "64M"), ("/var/tmp", "64M")):
        mount("-t", "tmpfs", "-o", f"size={size},mode=1777", "tmpfs", place)
    tempfile.tempdir = "/tmp"
    loopback_up()
    levels = [*((level, None) for level in options.levels), *(("2", abi) for abi in options.abi)]
    return [one(item, level, abi, groups) for level, abi in levels for item in items]


def read(corpus: Path, only: list[str] | None) -> list[dict[str, object]]:
    """The items of a corpus with their texts."""
    index = json.loads((corpus / "index.json").read_text())
    items = [item for item in index["items"] if not only or item["id"] in only]
    for item in items:
        item["text"] = (corpus / item.get("file", f"{item['id']}.py")).read_text("utf-8", "surrogateescape")
    return items


def one(item: dict[str, object], level: str, abi: int | None, groups: list[str]) -> dict[str, object]:
    """One item at one level: what a process of the throw-away user saw of it."""
    folder = Path(tempfile.mkdtemp(prefix="item-"))
    os.chown(folder, USER, USER)
    peak = next((Path(g, "memory.max_usage_in_bytes") for g in groups if "/memory/" in g), None)
    if peak is not None:
        peak.write_text("0")
    task = json.dumps({**item, "level": level, "abi": abi, "folder": str(folder)})
    keys = {"OPENAI_API_KEY": "sk-CANARY-in-the-environment", "HOME": str(folder / "outside" / "home")}
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "TMPDIR": str(folder), **keys}
    command = [sys.executable, "-P", str(ITEM)]
    harness = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, cwd=folder, user=USER, group=USER,
        extra_groups=[], start_new_session=True, text=True,
    )  # fmt: skip
    try:
        out, _ = harness.communicate(task, timeout=ITEM_S)
        seen = json.loads(out) if harness.returncode == 0 else {}
    except (subprocess.TimeoutExpired, ValueError):
        seen = {}
    if not seen:
        seen = {"verdict": "error", "effects": ["harness_dead"]}
    sweep(harness)
    if peak is not None:
        seen["peak_bytes"] = int(peak.read_text())
        seen["effects"] += ["mem_over"] if seen["peak_bytes"] > MEMORY_OVER else []
    shutil.rmtree(folder, ignore_errors=True)
    right = {*map(str, wanted)} if isinstance(wanted := item.get("right"), list) else {seen["verdict"]}
    if level == "W" and item["cat"] != "benign":
        right.add("blocked")
    is_right = seen["verdict"] in right and not seen["effects"]
    return {
        "name": f"level {level}",
        **seen,
        "id": item["id"],
        "cat": item["cat"],
        "level": level,
        "is_right": is_right,
    }


def sweep(harness: subprocess.Popen[str]) -> None:
    """Ends what an item left over in the cage, so that the next one starts alone, and reaps the orphans."""
    for entry in os.listdir("/proc"):
        if entry.isdigit() and int(entry) != os.getpid():
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(entry), 9)
    harness.wait()
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, 0)[0]:
            pass


def show_to_all(paths: tuple[str, ...]) -> None:
    """Lets the throw-away user reach folders that are closed to him, or lie below one that is: in this cage alone, the
    closed one is covered, and only what is needed is put back."""
    closed: dict[str, Path] = {}
    for path in sorted(map(os.path.realpath, paths)):
        line = [*reversed(Path(path).parents), Path(path)]
        shut = [folder for folder in line if not folder.stat().st_mode & 0o001]
        closed |= {path: shut[0]} if shut else {}
    mount("-t", "tmpfs", "-o", "mode=755", "tmpfs", "/mnt")
    kept = {path: tempfile.mkdtemp(dir="/mnt") for path in closed}
    for path, keep in kept.items():
        mount("--bind", path, keep)
    for folder in sorted(set(closed.values())):
        mount("-t", "tmpfs", "-o", "mode=755", "tmpfs", str(folder))
    for path, keep in kept.items():  # what holds another of them comes before it
        put_back(keep, path)


def put_back(keep: str, path: str) -> None:
    """A folder in its old place; what is in it, one by one, where the folder itself is closed."""
    if os.path.isdir(keep):
        os.makedirs(path, exist_ok=True)
    elif not os.path.lexists(path):
        Path(path).touch()
    if not os.path.isdir(keep) or os.stat(keep).st_mode & 0o001:
        mount("--bind", keep, path)
        return
    for name in os.listdir(keep):
        if os.path.islink(f"{keep}/{name}"):
            os.symlink(os.readlink(f"{keep}/{name}"), f"{path}/{name}")
        else:
            put_back(f"{keep}/{name}", f"{path}/{name}")


def mount(*arguments: str) -> None:
    subprocess.run(["mount", *arguments], check=True)


def loopback_up() -> None:
    """Programs that try to reach the loopback address must find one."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        fcntl.ioctl(sock, 0x8914, struct.pack("16sh", b"lo", 1 | 64))  # SIOCSIFFLAGS: IFF_UP, IFF_RUNNING


def report(seen: list[dict[str, object]], is_limited: bool) -> int:
    """Prints a table for each level; 1 where an item was not right."""
    if not is_limited:
        print("no control group could be made: the cage had no limit of its own on processes and memory")
    for name in dict.fromkeys(result["name"] for result in seen):
        rows = [result for result in seen if result["name"] == name]
        hostile = [r for r in rows if r["cat"] != "benign"]
        benign = [r for r in rows if r["cat"] == "benign"]
        print(f"level {rows[0]['level']}, {name}:")
        print(f"  right               {sum(bool(r['is_right']) for r in hostile)} of {len(hostile)} hostile")
        print(f"  benign served       {sum(bool(r['is_right']) for r in benign)} of {len(benign)}")
        print(
            f"  forged passes       {sum(str(r['cat']).startswith('forge') and r['verdict'] == 'pass' for r in rows)}"
        )
        print(f"  latest verdict      limit {max(float(r.get('late_s', 0)) for r in rows):+.2f} s")  # type: ignore[arg-type]
        print(f"  survivors after 1 s {sum('survivor' in r['effects'] for r in rows)}")  # type: ignore[operator]
        print(f"  most text kept      {max(int(r.get('text_bytes', 0)) for r in rows):,} bytes")  # type: ignore[call-overload]
        print(f"  most memory         {max(int(r.get('peak_bytes', 0)) for r in rows) >> 20:,} MiB")  # type: ignore[call-overload]
        kinds = Counter((r["cat"], bool(r["is_right"])) for r in rows)
        print(
            "  "
            + ", ".join(
                f"{cat} {kinds[cat, True]}/{kinds[cat, True] + kinds[cat, False]}"
                for cat in dict.fromkeys(r["cat"] for r in rows)
            )
        )
        for r in rows:
            if not r["is_right"]:
                print(f"  NOT RIGHT {r['id']}: {r['verdict']} {' '.join(r['effects'])} {str(r.get('text', ''))[:200]}")  # type: ignore[arg-type]
    return 0 if all(result["is_right"] for result in seen) else 1


if __name__ == "__main__":
    sys.exit(main())
