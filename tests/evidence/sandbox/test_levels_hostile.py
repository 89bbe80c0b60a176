"""Programs that misbehave, each in one way, and honest ones, through the `python` check at every level that isolates.

Those of `hostile` are bounded and hurt nobody even where a level leaks, so that they may run where the tests run. Those
of `hostile_caged` run by `make test-hostile` alone, in a cage of its own, together with these.
"""

from __future__ import annotations

import json
import os
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from reflect_lab.core.evidence import Evidence
from reflect_lab.evidence.sandbox import cage, selftest
from reflect_lab.evidence.sandbox.caged import Caged
from reflect_lab.evidence.sandbox.levels import PROCESS, Level
from scripts.hostile_item import Outside, verdict
from tests.evidence.evidence_support import evidence_of, is_alive, isolated_levels

HERE = Path(__file__).parents[1]
LEVELS = isolated_levels()
TESTS = "assert add(2, 3) == 5\nassert add(-1, 1) == 0\nassert add(10, 20) == 30\n"
LIMIT_S = 2.0
LATE_S = 0.5


def items(corpus: str) -> list[dict[str, str]]:
    found: list[dict[str, str]] = json.loads((HERE / corpus / "index.json").read_text())["items"]
    return found


@pytest.fixture
def outside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Outside]:
    """What the user has beside the check's folder, and a key in the environment."""
    (tmp_path / "homes").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "homes"))
    monkeypatch.setenv("OPENAI_API_KEY", "sk-CANARY-in-the-environment")
    # Not a port that the system gives out: a client that tries again to reach a server of another test would find it.
    port = 20_000 + os.getpid() % 10_000
    watched = Outside(tmp_path / "outside", ports=(port,), name=f"reflect-canary-{os.getpid()}")
    yield watched
    watched.close()


@pytest.mark.skipif(not LEVELS, reason="neither Landlock nor bubblewrap works on this machine")
@pytest.mark.parametrize("level", LEVELS, ids=lambda level: str(level.number))
@pytest.mark.parametrize("item", items("hostile"), ids=lambda item: str(item["id"]))
async def test_a_hostile_program_gets_nothing_and_no_pass_that_it_did_not_earn(
    item: dict[str, str], level: Level, outside: Outside, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    caged: list[Caged] = []
    run_blocking = cage.run_blocking
    monkeypatch.setattr(cage, "run_blocking", lambda *a, **k: caged.append(run_blocking(*a, **k)) or caged[-1])
    monkeypatch.setattr(selftest, "strongest", lambda: level)
    draft = (HERE / "hostile" / f"{item['id']}.py").read_text()
    for name, real in (("@CANARY@", outside.folder), ("47811", outside.ports[0]), ("reflect-canary", outside.name)):
        draft = draft.replace(name, str(real))
    options = {"code": TESTS, "timeout_s": LIMIT_S}
    evidence: Evidence = await evidence_of("python", options, draft, code_is_trusted=False)
    said = repr(evidence) + "".join(c.output for c in caged)
    assert "CANARY" not in said and "can be signalled" not in said
    assert all(len(c.output.encode()) <= 262_144 and c.seconds < LIMIT_S + LATE_S for c in caged)
    assert not (outside.is_changed() or outside.is_reached() or outside.is_bystander_hurt())
    assert not os.listdir(tmp_path / "homes") and not survivors(tmp_path / "homes")
    assert evidence.sandbox is not None and evidence.sandbox.level == level.number
    assert verdict(evidence) in item.get("right", [verdict(evidence)]), evidence.text


@pytest.mark.parametrize("level", [PROCESS, *LEVELS], ids=lambda level: str(level.number))
@pytest.mark.parametrize("item", items("honest"), ids=lambda item: str(item["id"]))
async def test_an_honest_program_is_served(item: dict[str, str], level: Level, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(selftest, "strongest", lambda: level)
    draft = (HERE / "honest" / f"{item['id']}.py").read_text()
    evidence = await evidence_of("python", {"code": TESTS}, draft, code_is_trusted=True)
    assert [verdict(evidence)] == item["right"], evidence.text


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
        places = [f"/proc/{pid}", *(f"/proc/{pid}/task/{thread}" for thread in os.listdir(f"/proc/{pid}/task"))]
        return any(f"HOME={homes}".encode() in Path(place, "environ").read_bytes() for place in places)
    except OSError:
        return False


@pytest.mark.parametrize("corpus", ["hostile", "hostile_caged", "honest"])
def test_every_program_of_a_corpus_is_in_its_index(corpus: str) -> None:
    assert sorted(item["id"] for item in items(corpus)) == sorted(p.stem for p in (HERE / corpus).glob("*.py"))
