"""The saved output of a cell: four forms, at most 200 kB in the notebook file, the important parts always there."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import nbformat
import pytest
from hypothesis import HealthCheck, given, settings
from jsonschema import Draft202012Validator

import reflect_lab.documents
from reflect_lab.core.critique import Critique, Ground, Issue
from reflect_lab.core.drafts import diff
from reflect_lab.core.evidence import Evidence, Finding
from reflect_lab.core.run import Decision, Draft, Outcome, Round, Run, text_sha256
from reflect_lab.documents.bundle import MAX_BYTES, MIME, bundle
from reflect_lab.documents.run_document import dump_run, load_run
from reflect_lab.documents.visible import visible
from tests.documents.run_strategies import HOSTILE, runs

FORMS = [MIME, "text/html", "text/markdown", "text/plain"]


def stored(name: str) -> Run:
    path = Path(__file__).parent.parent / "fixtures" / "runs" / f"{name}.json"
    return load_run(json.loads(path.read_text("utf-8")))


def in_notebook(data: dict[str, Any], path: Path) -> int:
    """The bytes that the output adds to a real notebook file."""
    sizes = []
    for outputs in ([], [nbformat.v4.new_output("execute_result", data=data)]):
        notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("%%reflect", outputs=outputs)])
        nbformat.write(notebook, path)
        sizes.append(path.stat().st_size)
    return sizes[1] - sizes[0]


def large(rounds: int, lines: int, issues: int, quote: int, letter: str = "x") -> Run:
    """A run whose drafts have `lines` lines of which two change per round; issues quote `quote` characters."""
    run = stored("accepted")
    texts: list[str] = []
    for r in range(rounds):
        body = [f"line {n} {letter * 30}" for n in range(lines)]
        body[1] = f"changed first {r}"
        body[lines // 2] = f"changed middle {r} {letter}"
        texts.append("\n".join(body) + "\n")
    problems = tuple(
        Issue(
            key=f"R1/{n}",
            id=f"issue-{n}",
            severity="blocking",
            source="critic",
            evidence=f"quote {n} " + letter * quote,
            ground=Ground(kind="task", source="task", start=0, end=5),
        )
        for n in range(issues)
    )
    report = Evidence(
        source="python:1",
        kind="python",
        rank="executed",
        status="failed",
        text=letter * 60_000,
        findings=tuple(Finding(id=f"case:{n}", status="passed", message=letter * 200) for n in range(300)),
    )
    made = tuple(
        Round(
            index=r,
            draft=Draft(
                index=r,
                text=texts[r],
                raw=texts[r] * 2,
                reasoning=letter * 50_000,
                mode="rewrite" if r else "first",
                parent=r - 1 if r else None,
                diff=diff(texts[r - 1], texts[r]) if r else None,
            ),
            evidence=(report,),
            critique=Critique(validity="ok", score=0.2, score_kind="critic", issues=problems),
            decision=Decision(action="stop" if r == rounds - 1 else "revise", reason="stalled", message="no progress"),
        )
        for r in range(rounds)
    )
    outcome = Outcome(
        status="escalated", stop_reason="stalled", draft_index=rounds - 1, draft=texts[-1], message="no progress"
    )
    return replace(run, rounds=made, outcome=outcome)


@pytest.mark.parametrize("name", ["accepted", "stalled", "cancelled", "error"])
def test_a_usual_run_is_saved_whole(name: str, tmp_path: Path) -> None:
    run = stored(name)
    data: Any = bundle(run, "traces")
    assert list(data) == FORMS
    assert data[MIME] == {"run": dump_run(run), "traces": "traces", "left_out": []}
    assert load_run(data[MIME]["run"]) == run
    assert in_notebook(data, tmp_path / "a.ipynb") <= MAX_BYTES


def test_a_large_run_keeps_the_decision_the_final_draft_the_diffs_and_the_quotes(tmp_path: Path) -> None:
    run = large(rounds=3, lines=400, issues=12, quote=120)
    data: Any = bundle(run)
    document, left_out = data[MIME]["run"], data[MIME]["left_out"]
    assert in_notebook(data, tmp_path / "a.ipynb") <= MAX_BYTES
    assert document["rounds"][2]["draft"]["text"] == run.rounds[2].draft.text
    assert document["outcome"]["stop_reason"] == "stalled"
    assert [r["decision"]["action"] for r in document["rounds"]] == ["revise", "revise", "stop"]
    for before, after in zip(document["rounds"], document["rounds"][1:], strict=False):
        old, new = before["draft"]["text"].split("\n"), after["draft"]["text"].split("\n")
        assert after["draft"]["diff"]
        for hunk in after["draft"]["diff"]:
            assert all(line.startswith("changed") for line in old[hunk["old_start"] : hunk["old_end"]])
            assert all(line.startswith("changed") for line in new[hunk["new_start"] : hunk["new_end"]])
    for round_, whole in zip(document["rounds"], run.rounds, strict=True):
        assert (
            round_["critique"]["issues"]
            == json.loads(json.dumps(dump_run(run)))["rounds"][whole.index]["critique"]["issues"]
        )
        assert round_["draft"]["sha256"] == text_sha256(whole.draft.text)
    assert "raw replies and reasoning" in left_out
    assert left_out[-1] == f"the whole run: %reflect show {run.run_id}"
    for form in FORMS[1:]:
        text = re.sub("<[^>]*>", "", data[form]) if form == "text/html" else data[form]
        assert "changed middle 1" in text
        assert "quote 11" in text
        assert form != "text/html" or run.rounds[2].draft.text in text


@pytest.mark.parametrize(
    ("rounds", "lines", "issues", "quote", "letter"),
    [
        (40, 200, 30, 500, "x"),
        (2, 30_000, 5, 100, "x"),
        (3, 50, 200, 5_000, "\x00"),
        (5, 500, 40, 1_000, "\U000e0041"),
        (4, 900, 60, 900, "<"),
        (300, 5, 2, 10, "\\"),
    ],
)
def test_no_run_takes_more_than_its_room_and_each_cut_is_named(
    rounds: int, lines: int, issues: int, quote: int, letter: str, tmp_path: Path
) -> None:
    run = large(rounds, lines, issues, quote, letter)
    data: Any = bundle(run)
    assert in_notebook(data, tmp_path / "a.ipynb") <= MAX_BYTES
    assert data[MIME]["left_out"]
    document = data[MIME]["run"]
    schema = json.loads(Path(reflect_lab.documents.__file__).with_name("run.schema.json").read_text("utf-8"))
    Draft202012Validator(schema).validate(document)
    assert document["outcome"]["stop_reason"] == "stalled"
    assert document["rounds"][-1]["decision"]["action"] == "stop"
    assert any(r["draft"]["index"] == document["outcome"]["draft_index"] for r in document["rounds"])
    for form in FORMS[1:]:
        assert "The revisions made no progress" in data[form]
        assert f"%reflect show {run.run_id}" in data[form]


def test_lone_surrogates_never_break_the_notebook_file(tmp_path: Path) -> None:
    data: Any = bundle(stored("hostile"), "traces \ud83e")
    assert in_notebook(data, tmp_path / "a.ipynb") <= MAX_BYTES
    assert any("no valid Unicode" in part for part in data[MIME]["left_out"])
    assert data[MIME]["traces"] == "traces [U+D83E]"


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(runs(HOSTILE))
def test_any_run_can_be_saved(run: Run) -> None:
    data: Any = bundle(run, run.salt)
    json.dumps(data, ensure_ascii=False, allow_nan=False).encode("utf-8")
    for form in FORMS[1:]:
        assert visible(data[form]) == data[form]
