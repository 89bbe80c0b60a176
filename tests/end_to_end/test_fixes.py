"""Drafts that a check mends: whole runs, from the cell to the record and its spans."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import reflect_lab as rl
from reflect_lab.documents.render_markdown import run_markdown
from tests.end_to_end.test_worked_examples import critic, generator, played

ORDER = """\
Give the order as JSON.
- [ ] it names the total

```json schema R1
{"type": "object", "required": ["total"], "properties": {"total": {"type": "number"}}}
```
"""
SCRIPTED = """\
---
checks: [layout]
---
Write a note.
- [ ] it has two lines
"""


def check(status: str, **more: Any) -> dict[str, Any]:
    return {"role": "check", "name": "layout", "status": status, **more}


def test_json_with_a_slip_is_mended_by_the_check_without_a_call(tmp_path: Path) -> None:
    lines = [generator('```json\n{"total": 12,}\n```'), critic(0.9)]
    run = played(tmp_path, ORDER, lines)
    assert run.outcome is not None
    assert (run.outcome.stop_reason, run.outcome.draft) == ("pass", '{"total": 12}')
    assert [(r.draft.mode, r.draft.extraction, r.draft.parent) for r in run.rounds] == [
        ("first", "fence:json", None),
        ("fixed", "fix", 0),
    ]
    assert [(r.role, r.round) for r in run.ledger] == [("generator", 0), ("critic", 1)]
    first = run.rounds[0]
    assert first.feedback is None and first.decision is not None and first.decision.action == "revise"
    assert run.rounds[1].draft.diff, "the diff to the broken draft is shown"


def test_a_fix_is_checked_again_and_the_model_takes_over_where_it_did_not_help(tmp_path: Path) -> None:
    lines = [
        generator("one"),
        check("failed", text="a line is missing", fix="one\n-"),
        critic(0.4),
        check("failed", text="a line is empty", findings=[{"id": "empty", "message": "a line is empty"}], fix="one"),
        critic(0.5),
        generator("one\ntwo"),
        check("passed"),
        critic(0.9),
    ]
    run = played(tmp_path, SCRIPTED, lines)
    assert [r.draft.mode for r in run.rounds] == ["first", "fixed", "rewrite"]
    assert run.rounds[1].feedback is not None, "the second fix would have gone back to the first draft"
    assert run.outcome is not None and run.outcome.stop_reason == "pass"
    assert run.usage.calls == 5


def test_a_round_without_a_call_is_shown_recorded_and_traced(tmp_path: Path) -> None:
    lines = [
        generator("one"),
        check("failed", text="a line is missing", fix="one\ntwo"),
        critic(0.6),
        check("passed"),
        critic(0.9),
    ]
    run = played(tmp_path, SCRIPTED, lines)
    shown = run_markdown(run)
    assert "fixed by a check" in shown and "layout mends the draft itself" in shown
    traces = rl.open_traces(tmp_path / "traces")
    rounds = list(traces.sql("select round, mode, feedback_mode from rounds order by round").rows)
    spans = dict(traces.sql("select name, count(*) from spans group by name").rows)
    assert rounds == [(0, "first", None), (1, "fixed", None)]
    assert spans["reflect.generate"] == 2


@pytest.mark.parametrize("name", ["trim", "round trip"])
def test_a_fix_of_any_size_travels_in_the_document(name: str, tmp_path: Path) -> None:
    from reflect_lab.documents.run_document import dump_run, load_run
    from reflect_lab.documents.trim import trim

    huge = "one\n" + "two\n" * 60_000
    lines = [generator("one"), check("failed", text="short", fix=huge), critic(0.6), check("passed"), critic(0.9)]
    document = dump_run(played(tmp_path, SCRIPTED, lines))
    if name == "trim":
        small, left_out = trim(document, 100_000)
        assert len(json.dumps(small)) < 110_000 and "drafts as checks mended them" in left_out
    else:
        assert dump_run(load_run(json.loads(json.dumps(document)))) == document
