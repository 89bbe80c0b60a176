"""A session: what it hides, what it holds, and how it ends."""

from __future__ import annotations

import asyncio
import gc
import json
import os
import weakref
from pathlib import Path
from typing import Any

import pytest

from reflect_lab.core.task import CheckSpec, Task
from reflect_lab.options import RunOptions
from reflect_lab.session import Session
from reflect_lab.store.reader import read_traces

CELL = "Write a note.\n- [ ] it names the day\n"
KEY = "q7-quite-an-ordinary-word-0451"


def script(folder: Path, *texts: str) -> RunOptions:
    clean = {"role": "critic", "json": {"issues": [], "score": 0.9}}
    lines: list[dict[str, Any]] = [*({"role": "generator", "text": text} for text in texts), clean]
    (folder / "script.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return RunOptions(model="scripted:script.jsonl")


async def test_a_key_that_is_set_while_the_session_is_open_reaches_no_trace(tmp_path: Path) -> None:
    environ = {"HOME": str(tmp_path)}
    async with Session(traces=tmp_path / "t", environ=environ, cwd=tmp_path) as session:
        session.recording()
        environ["WORK_API_KEY"] = KEY
        run = await session.reflect(CELL, script(tmp_path, f"on Monday, says {KEY}"))
        assert KEY not in repr(session.shown(run))
    written = "".join(path.read_text() for path in (tmp_path / "t").rglob("*.jsonl"))
    assert "on Monday" in written and KEY not in written


async def test_a_schema_is_tried_without_blocking_the_loop(tmp_path: Path) -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string"}}}
    task = Task(
        text="Write it.", checks=(CheckSpec(name="s", kind="json_schema", gate=True, options={"schema": schema}),)
    )
    pauses = []

    async def tick() -> None:
        loop = asyncio.get_running_loop()
        while True:
            before = loop.time()
            await asyncio.sleep(0.005)
            pauses.append(loop.time() - before)

    async with Session(traces=tmp_path / "t", environ={"HOME": str(tmp_path)}, cwd=tmp_path) as session:
        ticking = asyncio.ensure_future(tick())
        await session.prepare(task, script(tmp_path, "{}"), tmp_path)
        ticking.cancel()
    assert len(pauses) > 3, "the loop went on while the schema was tried"


async def test_the_clients_of_a_run_are_not_held_after_it(tmp_path: Path) -> None:
    async with Session(traces=tmp_path / "t", environ={"HOME": str(tmp_path)}, cwd=tmp_path) as session:
        _, roles = await session.prepare(Task(text="x"), script(tmp_path, "one"), tmp_path)
        client = weakref.ref(roles.generator.client)
        del roles
        gc.collect()
        assert client() is None


async def test_a_log_that_was_full_for_a_moment_holds_the_whole_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, full = os.write, []

    def write(descriptor: int, data: Any) -> int:
        if b'"draft_written"' in bytes(data) and not full:
            full.append(True)
            raise OSError(28, "No space left on device")
        return real(descriptor, data)

    monkeypatch.setattr(os, "write", write)
    async with Session(traces=tmp_path / "t", environ={"HOME": str(tmp_path)}, cwd=tmp_path) as session:
        run = await session.reflect(CELL, script(tmp_path, "on Monday"))
    assert full and run.outcome and (run.outcome.stop_reason, run.outcome.recorded) == ("pass", False)
    (stored,) = read_traces(tmp_path / "t")
    assert (stored.status, stored.problems) == ("accepted", ())
    assert stored.run.outcome and stored.run.outcome.draft == "on Monday"


async def test_a_log_that_cannot_be_written_at_the_end_is_a_notice_and_everything_else_is_released(
    tmp_path: Path,
) -> None:
    (tmp_path / "t").write_text("a file stands where the folder should be")
    session = Session(traces=tmp_path / "t", environ={"HOME": str(tmp_path)}, cwd=tmp_path)
    run = await session.reflect(CELL, script(tmp_path, "on Monday"))
    released = []
    close = session.endpoints.close

    async def closing() -> None:
        released.append(True)
        await close()

    session.endpoints.close = closing  # type: ignore[method-assign]
    await session.close()
    assert run.outcome and run.outcome.stop_reason == "pass" and released
    assert any("can't be written" in notice.message for notice in session.notices)
