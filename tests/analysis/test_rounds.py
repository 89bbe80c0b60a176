"""Score and tokens per round: unknown is a gap, and two kinds of score are never joined."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from reflect_lab.analysis.rounds import SQL, score_and_tokens
from reflect_lab.options import RunOptions
from reflect_lab.session import Session

TASK = "Write a note.\n- [ ] names the day of the repair\n"
SCRIPT = """
{"role": "generator", "text": "one", "usage": {"input_tokens": 50, "output_tokens": 10}}
{"role": "critic", "json": {"issues": [{"id": "a", "severity": "blocking", "requirement": "R1"}], "score": 0.4}}
{"role": "generator", "text": "two"}
{"role": "critic", "json": {"issues": [], "score": 0.9}}
"""


class Rows:
    """Rows that are there already."""

    def __init__(self, *rows: dict[str, Any]) -> None:
        self.rows = rows

    def sql(self, query: str, parameters: Sequence[Any] = ()) -> Any:
        assert query == SQL
        return self.rows


def row(index: int, kind: str | None, score: float | None, tokens: int | None) -> dict[str, Any]:
    return {"run_id": "a", "round": index, "score": score, "score_kind": kind, "tokens": tokens, "blocking": 0}


async def test_a_recorded_run_is_drawn_and_its_unknown_tokens_are_named(tmp_path: Path) -> None:
    (tmp_path / "s.jsonl").write_text(SCRIPT)
    async with Session(traces=tmp_path / "traces", environ={}, cwd=tmp_path) as session:
        run = await session.reflect(TASK, RunOptions(model="scripted:s.jsonl"))
        figure = score_and_tokens(session.open_traces(), {run.run_id: "note"})
    tokens, scores = figure.data
    assert list(tokens.y) == [None, None], "a total with an unknown part is unknown"
    assert list(scores.y) == [0.4, 0.9]
    assert "tokens unknown" in [note.text for note in figure.layout.annotations]
    assert figure.layout.meta["sql"] == SQL and "n = 2 rounds" in figure.layout.title.text


def test_scores_of_two_kinds_are_two_lines_with_gaps() -> None:
    figure = score_and_tokens(Rows(row(0, "critic", 0.4, 60), row(1, "checks", 0.5, 70)), {"a": "note"})
    tokens, critic, checks = figure.data
    assert list(tokens.y) == [60, 70]
    assert (list(critic.y), list(checks.y)) == ([0.4, None], [None, 0.5])
    assert "tokens unknown" not in [note.text for note in figure.layout.annotations]


def test_a_round_without_a_score_is_no_point() -> None:
    figure = score_and_tokens(Rows(row(0, None, None, 60), row(1, "critic", 0.9, 70)), {"a": "note"})
    assert list(figure.data[1].y) == [None, 0.9]
