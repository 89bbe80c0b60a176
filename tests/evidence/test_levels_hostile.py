"""Programs that misbehave, each in one way, through the `python` check at every level that isolates.

They are bounded and send no signal, so that they may run where the tests run. A whole corpus runs by
`make test-hostile`, in a cage of its own.
"""

from __future__ import annotations

import os
import socket
import tempfile
import time
from pathlib import Path

import pytest

from reflect_lab.core.evidence import Evidence
from reflect_lab.evidence.sandbox import cage, selftest
from reflect_lab.evidence.sandbox.caged import Caged
from reflect_lab.evidence.sandbox.levels import Level
from tests.evidence.evidence_support import evidence_of, is_alive, isolated_levels

PROGRAMS = {path.stem: path.read_text() for path in sorted((Path(__file__).parent / "hostile").glob("*.py"))}
LEVELS = [pytest.param(level, id=str(level.number)) for level in isolated_levels()]
TESTS = "assert add(2, 3) == 5\nassert add(-1, 1) == 0\nassert add(10, 20) == 30\n"
LIMIT_S = 2.0
NEVER_PASS = {
    "spins", "sleeps_through_everything", "crashes", "leaves_with_success", "leaves_at_exit", "writes_answers",
    "raises_half_a_character", "starts_children", "fills_memory",
}  # fmt: skip
SERVED = {
    "floods_the_output", "prints_the_environment", "reads_a_key", "reads_by_a_link", "reads_processes",
    "writes_outside", "calls_home", "leaves_a_daemon", "asks_for_signals", "prints_bytes",
}  # fmt: skip
"""Right answers of programs that try something else besides."""

pytestmark = pytest.mark.skipif(not LEVELS, reason="neither Landlock nor bubblewrap works on this machine")


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("name", PROGRAMS)
async def test_a_hostile_program_gets_nothing_and_no_pass_that_it_did_not_earn(
    name: str, level: Level, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    caged: list[Caged] = []
    run_blocking = cage.run_blocking
    monkeypatch.setattr(cage, "run_blocking", lambda *a, **k: caged.append(run_blocking(*a, **k)) or caged[-1])
    monkeypatch.setattr(selftest, "strongest", lambda: level)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-canary-1")
    outside, homes = tmp_path / "outside", tmp_path / "homes"
    outside.mkdir()
    homes.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(homes))
    (outside / "key").write_text("canary-2")
    before = (outside / "key").stat()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.setblocking(False)
        port = listener.getsockname()[1]
        draft = PROGRAMS[name].replace("@OUTSIDE@", str(outside)).replace("47811", str(port))
        options = {"code": TESTS, "timeout_s": LIMIT_S}
        evidence: Evidence = await evidence_of("python", options, draft, code_is_trusted=False)
        with pytest.raises(BlockingIOError):
            listener.accept()
    said = repr(evidence) + "".join(c.output for c in caged)
    assert "canary" not in said and "can be signalled" not in said
    assert all(len(c.output) <= 262_144 and c.seconds < LIMIT_S + 0.5 for c in caged)
    assert os.listdir(outside) == ["key"] and (outside / "key").read_text() == "canary-2"
    assert (outside / "key").stat().st_mode == before.st_mode and not os.listdir(homes)
    assert evidence.sandbox is not None and evidence.sandbox.level == level.number
    if name in NEVER_PASS:
        assert evidence.status != "passed"
    if name in SERVED:
        assert evidence.status == "passed", evidence.text
    assert not survivors(homes)


def survivors(homes: Path) -> list[int]:
    """Processes that were started with one of these homes and are alive, one second later at the latest."""
    end = time.monotonic() + 1.0
    while found := [p for p in map(int, filter(str.isdigit, os.listdir("/proc"))) if is_alive(p) and _has(p, homes)]:
        if time.monotonic() > end:
            return found
        os.sched_yield()
    return []


def _has(pid: int, homes: Path) -> bool:
    try:
        return f"HOME={homes}".encode() in Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return False


def test_every_program_of_the_folder_is_judged_by_a_rule() -> None:
    assert PROGRAMS.keys() == NEVER_PASS | SERVED | {"fills_a_file"}
