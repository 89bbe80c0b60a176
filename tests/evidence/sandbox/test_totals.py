"""What the processes of a draft may have together: memory, and files below their home."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

import pytest

from reflect_lab.evidence.sandbox import cage, runner
from reflect_lab.evidence.sandbox.caged import Caged
from reflect_lab.evidence.sandbox.levels import PROCESS, Level
from reflect_lab.evidence.sandbox.limits import Limits
from reflect_lab.evidence.sandbox.surroundings import remove_folder
from tests.evidence.evidence_support import evidence_of, isolated_levels

LEVELS = [PROCESS, *isolated_levels()]
MIB = 1 << 20


def run(draft: str, limits: Limits, level: Level = PROCESS) -> Caged:
    job = {"mode": "python", "draft": draft, "setup": "", "code": "pass", "cases": [[0, 1]]}
    return cage.run_blocking(Path(runner.__file__), job, limits, level=level)


def children(count: int, mib: int) -> str:
    return f"""
import os, time
kept = b"x" * ({mib} << 20) if {count < 0} else None
for _ in range({abs(count)}):
    if os.fork() == 0:
        kept = kept or b"x" * ({mib} << 20)
        time.sleep(3)
        os._exit(0)
time.sleep(1)
"""


@pytest.mark.parametrize("level", LEVELS, ids=lambda level: str(level.number))
def test_children_may_not_hold_more_memory_together_than_one_process(level: Level) -> None:
    caged = run(children(6, 60), Limits(memory_bytes=256 * MIB), level)
    assert caged.end == "memory" and caged.left_behind >= 6


def test_memory_that_children_share_counts_once() -> None:
    caged = run(children(-6, 60), Limits(memory_bytes=256 * MIB))  # made before they were
    assert (caged.end, caged.code) == ("exited", 0)


FILES = "\nfor n in range(64):\n    f = open(str(n), 'wb'); f.write(bytes(1 << 20)); f.flush()"
UNNAMED = "import tempfile\nkept = []" + FILES.replace("open(str(n), 'wb')", "tempfile.TemporaryFile(); kept.append(f)")
MANY = "\nfor n in range(3_000):\n    open(str(n), 'w').close()"


@pytest.mark.parametrize("draft", [FILES, UNNAMED, MANY], ids=["named", "unnamed", "many"])
def test_files_may_not_take_more_than_their_part_of_the_disk(draft: str) -> None:
    limits = Limits(disk_bytes=32 * MIB, files=1_000)
    caged = run(f"{draft}\nimport time\ntime.sleep(5)", limits)
    assert caged.end == "disk" and caged.seconds < 5


def test_files_within_their_part_and_those_of_others_end_nothing(tmp_path: Path) -> None:
    beside = f"\nfor n in range(64):\n    open({str(tmp_path)!r} + f'/{{n}}', 'wb').write(bytes(1 << 20))"
    caged = run(f"{FILES.replace('64', '8')}{beside}\nimport time\ntime.sleep(1)", Limits(disk_bytes=32 * MIB))
    assert (caged.end, caged.code) == ("exited", 0)


async def test_what_was_too_much_is_said_in_words() -> None:
    draft = "import os, time\nfor _ in range(70):\n    if os.fork() == 0: time.sleep(9); os._exit(0)\ntime.sleep(9)"
    evidence = await evidence_of("python", {"code": "assert f() == 1"}, draft)
    assert evidence.status == "failed" and "it started over 64 processes" in evidence.text
    draft = "import time\nfor n in range(4):\n    open(str(n), 'wb').write(bytes(60 << 20))\ntime.sleep(9)"
    evidence = await evidence_of("python", {"code": "assert f() == 1"}, draft, sandbox="process")
    assert evidence.status == "failed" and "its files were over 128 MiB, or over 20,000" in evidence.text


def test_a_verdict_does_not_wait_for_a_large_folder_to_be_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    popen = subprocess.Popen
    monkeypatch.setattr(subprocess, "Popen", lambda command, **named: popen(["sleep", "9"], **named))
    folder = tmp_path / "home"
    for n in range(12):
        (folder / str(n)).mkdir(parents=True)
        for k in range(500):
            (folder / str(n) / str(k)).touch()
    started = time.monotonic()
    remove_folder(str(folder), until=started)
    assert time.monotonic() - started < 5 and folder.exists()


def test_a_folder_is_gone_at_once_where_there_is_time(tmp_path: Path) -> None:
    folder = tmp_path / "home"
    place = folder
    for n in range(300):
        place = place / "d"
        place.mkdir(parents=True)
        (place / f"{n}").touch()
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "kept").touch()
    os.symlink(outside, folder / "link")
    os.chmod(folder / "d" / "d", 0)
    remove_folder(str(folder))
    assert not folder.exists() and (outside / "kept").exists()
