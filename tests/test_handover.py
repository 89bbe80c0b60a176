"""`on_exhaustion: model:NAME`: a child run on what is left of the budget, recorded, shown and counted once."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from reflect_lab.core.errors import WrongUse
from reflect_lab.core.observer import Observer
from reflect_lab.core.run import Run
from reflect_lab.documents.run_document import dump_run, load_run
from reflect_lab.options import RunOptions
from reflect_lab.session import Session

TASK = "Write a release note.\n- [ ] names the menu where the button lives\n"
CHECKED = "---\nchecks:\n  - look\n---\n" + TASK
BLOCKED = {"issues": [{"id": "a", "severity": "blocking", "requirement": "R1", "evidence": ""}], "score": 0.4}
CLEAN: dict[str, Any] = {"issues": [], "score": 0.9}


def line(role: str, said: Any, tokens: tuple[int, int] = (100, 50), **more: Any) -> dict[str, Any]:
    words = {"json": said} if isinstance(said, dict) else {"text": said}
    return {"role": role, **words, "usage": {"input_tokens": tokens[0], "output_tokens": tokens[1]}, **more}


PARENT = [line("generator", "one"), line("critic", BLOCKED)]
LONG_PARENT = [*PARENT, line("generator", "uno"), line("critic", BLOCKED)]
CHILD = [line("generator", "the share menu"), line("critic", CLEAN)]


async def reflect(
    folder: Path,
    *,
    parent: Sequence[dict[str, Any]] = PARENT,
    child: Sequence[dict[str, Any]] = CHILD,
    task: str = TASK,
    observers: Sequence[Observer] = (),
    exhaustion: str = "model:scripted:child.jsonl",
    **limits: Any,
) -> Run:
    """A run whose parent may not revise; the child's script is in the working folder, the parent's beside the task."""
    base = folder / "task"
    base.mkdir(exist_ok=True)
    (base / "parent.jsonl").write_text("".join(json.dumps(one) + "\n" for one in parent))
    (folder / "child.jsonl").write_text("".join(json.dumps(one) + "\n" for one in child))
    policy = {"limits": {"revisions": 0, **limits}, "on_exhaustion": exhaustion}
    async with Session(traces=folder / "traces", environ={}, cwd=folder) as session:
        options = RunOptions(model="scripted:parent.jsonl", policy=policy)
        return await session.reflect(task, options, base=base, observers=observers)


def stop(run: Run) -> tuple[str, str, str | None]:
    assert run.outcome is not None
    return run.outcome.status, run.outcome.stop_reason, run.outcome.budget_dimension


async def test_another_model_takes_over_with_a_first_draft_of_its_own(tmp_path: Path) -> None:
    run = await reflect(tmp_path)
    assert stop(run) == ("accepted", "pass", None)
    assert [r.draft.text for r in run.rounds] == ["the share menu"] and run.rounds[0].draft.mode == "first"
    assert run.parent_run is not None and run.parent_run != run.run_id
    assert run.models["generator"].requested == "scripted:child.jsonl"


async def test_the_document_holds_usage_and_ledger_of_both_and_the_round_its_own(tmp_path: Path) -> None:
    run = await reflect(tmp_path)
    assert [(row.role, row.call, row.paid_by) for row in run.ledger] == [
        ("generator", 1, run.parent_run), ("critic", 2, run.parent_run), ("generator", 3, None), ("critic", 4, None),
    ]  # fmt: skip
    assert (run.usage.calls, run.usage.input_tokens, run.usage.output_tokens) == (4, 400, 200)
    assert (run.rounds[0].usage.calls, run.rounds[0].usage.input_tokens) == (2, 200)
    assert load_run(dump_run(run)) == run
    [notice] = run.notices
    assert notice.kind == "handed_over" and run.parent_run in notice.message and "(revisions)" in notice.message


@pytest.mark.parametrize(
    ("limits", "dimension"),
    [
        ({"model_calls": 3}, "model_calls"),
        ({"critic_calls": 1}, "critic_calls"),
        ({"total_tokens": 700}, "total_tokens"),
        ({"cost": 0.4, "currency": "USD"}, "cost"),
        ({"tool_calls": 1}, "tool_calls"),
    ],
)
async def test_where_nothing_is_left_the_parent_stays_and_says_so(
    limits: dict[str, Any], dimension: str, tmp_path: Path
) -> None:
    def priced(lines: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        return [{**one, "usage": {**one["usage"], "cost": 0.15, "currency": "USD"}} for one in lines]

    check = {"role": "check", "name": "look", "status": "passed"}
    run = await reflect(
        tmp_path, task=CHECKED, parent=[*priced(PARENT), check], child=[*priced(CHILD), check], **limits
    )
    assert stop(run) == ("escalated", "budget", "revisions")
    assert run.parent_run is None and len(run.ledger) == 2
    [notice] = run.notices
    assert notice.kind == "not_handed_over"
    assert notice.message.startswith("scripted:child.jsonl did not take over: the first draft needs up to"), dimension


async def test_the_child_is_held_to_what_the_parent_left(tmp_path: Path) -> None:
    child = [line("generator", "two"), line("critic", BLOCKED), line("generator", "three"), line("critic", CLEAN)]
    run = await reflect(tmp_path, child=child, revisions=1, model_calls=7, parent=LONG_PARENT)
    assert stop(run) == ("escalated", "budget", "model_calls"), "four calls of the parent, two of the child, one left"
    assert run.usage.calls == 6 and run.outcome and run.outcome.draft == "two"
    enough = await reflect(tmp_path, child=child, revisions=1, model_calls=8, parent=LONG_PARENT)
    assert stop(enough) == ("accepted", "pass", None), "its revisions count anew"


async def test_there_is_no_second_child(tmp_path: Path) -> None:
    run = await reflect(tmp_path, child=[line("generator", "two"), line("critic", BLOCKED)])
    assert stop(run) == ("escalated", "budget", "revisions")
    assert run.usage.calls == 4 and len(run.rounds) == 1


async def test_a_run_that_passes_hands_nothing_over(tmp_path: Path) -> None:
    run = await reflect(tmp_path, parent=[line("generator", "one"), line("critic", CLEAN)])
    assert stop(run) == ("accepted", "pass", None)
    assert run.parent_run is None and run.notices == ()


async def test_a_run_that_fails_hands_nothing_over(tmp_path: Path) -> None:
    run = await reflect(tmp_path, parent=PARENT[:1])
    assert stop(run) == ("stopped", "error", None) and run.parent_run is None


@pytest.mark.parametrize("name", ["scripted:missing.jsonl", "big@nowhere"])
async def test_a_model_that_does_not_exist_is_wrong_use_before_anything_is_spent(name: str, tmp_path: Path) -> None:
    with pytest.raises(WrongUse):
        await reflect(tmp_path, exhaustion=f"model:{name}")
    assert not (tmp_path / "traces").exists()


async def test_observers_see_both_runs_to_their_ends(tmp_path: Path) -> None:
    class Ends(Observer):
        def __init__(self) -> None:
            self.runs: list[Run] = []

        def on_end(self, run: Run) -> None:
            self.runs.append(run)

    ends = Ends()
    run = await reflect(tmp_path, observers=[ends])
    assert [stop(one)[1] for one in ends.runs] == ["budget", "pass"]
    assert [one.run_id for one in ends.runs] == [run.parent_run, run.run_id]


async def test_both_runs_are_recorded_and_each_paid_call_is_counted_once(tmp_path: Path) -> None:
    check = {"role": "check", "name": "look", "status": "passed"}
    run = await reflect(tmp_path, task=CHECKED, parent=[*PARENT, check], child=[*CHILD, check])
    traces = Session(traces=tmp_path / "traces", environ={}, cwd=tmp_path).open_traces()
    ids = traces.sql("select run_id, parent_run, status from runs order by started_at, run_id").rows
    assert ids == ((run.parent_run, None, "escalated"), (run.run_id, run.parent_run, "accepted"))
    for relation in ("runs", "rounds", "calls"):
        sums = traces.sql(f"select sum(input_tokens)::bigint, sum(output_tokens)::bigint from {relation}").rows
        assert sums == ((400, 200),), relation
    assert traces.sql("select count(*) from calls").rows == ((4,),)
    assert traces.sql("select sum(calls)::bigint from runs").rows == ((4,),)
    rolled = traces.sql(
        "select sum(attributes['reflect.usage.input_tokens']::bigint)::bigint from spans where parent_span_id is null"
    ).rows
    assert rolled == ((400,),)
    again = traces.run(run.run_id)
    assert again.ledger == run.ledger and again.carried == run.carried and again.usage == run.usage
    assert again.outcome == run.outcome and replace(again, notices=()) == replace(run, notices=())


async def test_where_the_other_model_fails_before_its_first_draft_the_parent_s_is_returned(tmp_path: Path) -> None:
    refused = [{"role": "generator", "text": "", "error": {"status": 401}}]
    run = await reflect(tmp_path, child=refused)
    assert stop(run) == ("escalated", "budget", "revisions")
    assert run.outcome is not None and run.outcome.draft == "one", "it was paid for"
    (notice,) = run.notices
    assert notice.kind == "not_handed_over" and "HTTP 401" in notice.message
    async with Session(traces=tmp_path / "traces", environ={}, cwd=tmp_path) as session:
        found = session.open_traces().sql("SELECT stop_reason FROM runs ORDER BY run_id").rows
    assert found == (("budget",), ("error",))
