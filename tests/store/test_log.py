"""The event log: what goes in comes out."""

from __future__ import annotations

import json
import os
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reflect_lab.core.critique import CriticReply, RaisedIssue
from reflect_lab.core.errors import StoreError
from reflect_lab.core.events import (
    Cancelled,
    CriticAnswered,
    DeadlinePassed,
    Decided,
    DraftWritten,
    EvidenceGathered,
    StepFailed,
)
from reflect_lab.core.evidence import Evidence, Finding, Location, Sandbox
from reflect_lab.core.run import Decision, Draft, LedgerRow, RunError
from reflect_lab.core.task import Task, text_sha256
from reflect_lab.store import lines
from reflect_lab.store.log import LogRecorder
from reflect_lab.store.reader import read_log, read_traces
from tests.store.driver import COLOUR_MISSING, REVISED, critique, empty_run, play, refused, roles

SMALL = st.text(st.characters(exclude_categories=()), max_size=8)
TEXT = SMALL | st.sampled_from(
    [letter * (4097 // size) + letter for letter, size in (("é", 2), ("\0", 1), ("\ud800", 3))]
)
KEY = st.text("$ab", max_size=8)
NUMBER = st.floats() | st.integers()
ROWS = st.lists(
    st.builds(
        LedgerRow,
        role=st.sampled_from(["generator", "critic"]),
        round=st.integers(0, 3),
        call=st.integers(1, 4),
        attempt=st.integers(1, 3),
        model=TEXT,
        status=st.sampled_from(["ok", "retried", "failed"]),
        input_tokens=st.none() | st.integers(0, 10**9),
        seconds=st.floats(0, 100),
        dropped_params=st.lists(TEXT, max_size=2).map(tuple),
        text=st.none() | TEXT,
    ),
    max_size=3,
    unique_by=lambda row: (row.call, row.attempt),
).map(tuple)
LOCATION = st.none() | st.builds(Location, kind=st.sampled_from(["line", "quote", None]), value=st.none() | TEXT)
SANDBOX = st.builds(Sandbox, level=st.integers(0, 3), name=TEXT, limits=st.dictionaries(KEY, NUMBER, max_size=2))
EVIDENCE = st.builds(
    Evidence,
    source=TEXT,
    kind=TEXT,
    rank=st.just("deterministic"),
    status=st.sampled_from(["passed", "failed", "error"]),
    text=TEXT,
    findings=st.lists(
        st.builds(Finding, id=TEXT, status=st.just("failed"), message=TEXT, location=LOCATION), max_size=2
    ).map(tuple),
    sandbox=st.none()
    | st.builds(Sandbox, level=st.integers(0, 3), name=TEXT, limits=st.dictionaries(KEY, NUMBER, max_size=2)),
    provenance=st.dictionaries(KEY, TEXT, max_size=2),
)
RAISED = st.builds(RaisedIssue, id=TEXT, severity=st.just("major"), evidence=TEXT, location=st.none() | TEXT)
EVENT = st.one_of(
    st.builds(DraftWritten, draft=st.builds(Draft, index=st.integers(0, 3), text=TEXT, raw=TEXT), ledger=ROWS),
    st.builds(EvidenceGathered, evidence=st.lists(EVIDENCE, max_size=2).map(tuple)),
    st.builds(
        CriticAnswered,
        reply=st.builds(
            CriticReply,
            validity=st.just("ok"),
            issues=st.lists(RAISED, max_size=2).map(tuple),
            score=st.none() | st.floats(),
        ),
        ledger=ROWS,
    ),
    st.builds(
        Decided,
        decision=st.builds(
            Decision,
            action=st.just("revise"),
            reason=TEXT,
            message=TEXT,
            numbers=st.dictionaries(KEY, NUMBER | TEXT | st.none(), max_size=2),
        ),
    ),
    st.builds(StepFailed, error=st.builds(RunError, kind=st.just("internal"), message=TEXT), ledger=ROWS),
    st.builds(DeadlinePassed, seconds=st.floats(), limit=st.floats(), ledger=ROWS),
    st.builds(Cancelled, ledger=ROWS),
)


@settings(max_examples=60, deadline=None)
@given(events=st.lists(EVENT, max_size=4), told=st.booleans(), task=TEXT)
def test_every_event_is_read_back_as_it_was_written(events: list, told: bool, task: str) -> None:
    with tempfile.TemporaryDirectory() as name:
        recorder = LogRecorder(Path(name))
        run = empty_run(task=Task(text=task))
        with recorder.around_run(run):
            for event in events:
                for row in getattr(event, "ledger", ()) if told else ():
                    recorder.on_attempt(run, row)
                recorder.on_event(run, event)
        recorder.close()
        (stored,) = read_traces(Path(name))
        # repr, since a NaN does not equal itself
        assert repr(stored.events) == repr(tuple(events))
        assert repr(stored.run.task) == repr(run.task)


JSON = st.recursive(
    st.none() | st.booleans() | NUMBER | TEXT,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(TEXT | st.sampled_from(["$content", "$float", "$$x"]), inner, max_size=3)
    ),
    max_leaves=8,
)


@settings(deadline=None)
@given(value=JSON)
def test_a_line_loses_nothing_that_json_has_no_word_for(value: object) -> None:
    contents: dict[str, str] = {}
    line = lines.dumps({"value": lines.encode(value, contents.__setitem__)})
    assert line.isascii() and line.endswith(b"\n") and line.count(b"\n") == 1
    strict = json.loads(line, parse_constant=lambda word: pytest.fail(f"{word} is no JSON"))
    assert repr(lines.decode(strict["value"], contents)) == repr(value)


DRAFT = st.sampled_from(["a sea", "blue", "a sea, blue and wide", "a\ud800\0 sea", "x y z " * 2000])
CRITIQUE = st.sampled_from([critique(), critique(COLOUR_MISSING, score=0.2), "not JSON", refused()])


@settings(max_examples=25, deadline=None)
@given(drafts=st.lists(DRAFT, min_size=4, max_size=4), critiques=st.lists(CRITIQUE, min_size=8, max_size=8))
async def test_a_whole_run_is_read_back_equal_to_the_run_that_the_loop_returned(drafts: list, critiques: list) -> None:
    with tempfile.TemporaryDirectory() as name:
        recorder = LogRecorder(Path(name))
        run = await play([recorder], drafts, critiques)
        recorder.close()
        (stored,) = read_traces(Path(name))
        assert stored.run == run
        assert stored.status == run.outcome.status
        assert stored.problems == ()


async def test_large_texts_are_stored_once_per_file(tmp_path: Path) -> None:
    draft = ("blue sea and sky\n" * 1000).rstrip()
    recorder = LogRecorder(tmp_path)
    for number in range(3):
        await play([recorder], [draft], [critique()], run=empty_run(f"run-{number}"))
    recorder.close()
    (path,) = (tmp_path / "log").iterdir()
    written = [json.loads(line) for line in path.read_text().splitlines()]
    assert [line["text"] == draft for line in written if line.get("sha256") == text_sha256(draft)] == [True]
    assert [stored.run.outcome.draft for stored in read_traces(tmp_path)] == [draft] * 3


async def test_a_line_stands_in_the_file_before_the_next_call_starts(tmp_path: Path) -> None:
    recorder = LogRecorder(tmp_path)
    seen = []
    actors = roles(REVISED, (critique(COLOUR_MISSING), critique()))
    actors.generator.client.before = lambda request: seen.append(_types(recorder.path))
    await play([recorder], actors=actors)
    assert seen[0] == ["run_started", "call_started"]
    assert seen[1][2:] == [
        "call_attempt", "call_answered", "draft_written", "evidence_gathered",
        "call_started", "call_attempt", "call_answered", "critic_answered", "decided", "call_started",
    ]  # fmt: skip


def test_no_file_is_made_before_the_first_run(tmp_path: Path) -> None:
    recorder = LogRecorder(tmp_path / "traces")
    recorder.close()
    assert recorder.path is None
    assert not (tmp_path / "traces").exists()


def test_an_attempt_whose_row_grew_later_is_counted_once(tmp_path: Path) -> None:
    recorder = LogRecorder(tmp_path)
    run = empty_run()
    row = LedgerRow(
        role="generator", round=0, call=1, attempt=1, model="m", status="ok", input_tokens=3, output_tokens=4
    )
    with recorder.around_run(run):
        recorder.on_attempt(run, row)
        recorder.on_event(run, DraftWritten(draft=Draft(index=0, text="a"), ledger=(replace(row, text="raw"),)))
    (stored,) = read_traces(tmp_path)
    assert [(r.input_tokens, r.text) for r in stored.run.ledger] == [(3, "raw")]
    assert stored.run.usage.input_tokens == 3


async def test_what_was_paid_for_is_on_the_disk_when_settle_returns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[int] = []
    monkeypatch.setattr(os, "fsync", lambda descriptor: synced.append(os.fstat(descriptor).st_size))
    recorder = LogRecorder(tmp_path)
    run = empty_run()
    with recorder.around_run(run):
        await recorder.settle()
        assert synced == [recorder.path.stat().st_size]
        await recorder.settle()
        assert len(synced) == 1  # nothing new: no second wait for the disk


def test_a_full_disk_leaves_whole_lines_and_loses_nothing_that_memory_holds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorder = LogRecorder(tmp_path)
    run = empty_run()
    real_write = os.write
    with recorder.around_run(run):
        before = recorder.path.read_bytes()

        def half(descriptor: int, data: bytes) -> int:
            if real_write(descriptor, bytes(data[:10])) and len(data) > 10:
                raise OSError(28, "No space left on device")
            return 10

        monkeypatch.setattr(os, "write", half)
        with pytest.raises(StoreError, match="No space left"):
            recorder.on_event(run, DraftWritten(draft=Draft(index=0, text="first")))
        assert recorder.path.read_bytes() == before
        monkeypatch.setattr(os, "write", real_write)
        recorder.on_event(run, EvidenceGathered(evidence=()))
    (stored,) = read_traces(tmp_path)
    assert [type(event) for event in stored.events] == [DraftWritten, EvidenceGathered]
    assert stored.problems == ()


def test_an_unwritable_folder_is_one_clear_error(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    recorder = LogRecorder(blocked)
    with pytest.raises(StoreError, match=r"can't be written.*--traces"), recorder.around_run(empty_run()):
        pass


def test_reading_from_a_later_byte_finds_large_texts_that_stand_before_it(tmp_path: Path) -> None:
    recorder = LogRecorder(tmp_path)
    task = Task(text="long " * 2000)
    with recorder.around_run(empty_run("first", task=task)):
        pass
    middle = recorder.path.stat().st_size
    with recorder.around_run(empty_run("second", task=task)):
        pass
    content = read_log(recorder.path, middle)
    assert [stored.run.run_id for stored in content.runs] == ["second"]
    assert content.runs[0].run.task == task
    assert content.resume == recorder.path.stat().st_size


def _types(path: Path) -> list[str]:
    return [json.loads(line)["type"] for line in path.read_text().splitlines() if '"content"' not in line[:120]]
