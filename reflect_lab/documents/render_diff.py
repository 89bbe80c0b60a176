"""A draft's diff as rows of lines, for the static renderings."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from reflect_lab.core.drafts import diff, lines_of
from reflect_lab.core.run import Hunk, Run

CONTEXT = 2
"""Unchanged lines shown around a change."""


@dataclass(frozen=True)
class Row:
    """One line of a diff. `marks` are the changed spans in code points; `fold` stands for unchanged lines."""

    kind: Literal["same", "old", "new", "fold"]
    text: str
    marks: tuple[tuple[int, int], ...] = ()


def draft_rows(run: Run, round_index: int) -> list[Row] | None:
    """What the round's draft changed in its parent; None for a draft without a (recorded) parent."""
    draft = run.rounds[round_index].draft
    parent = next((r.draft for r in run.rounds if r.draft.index == draft.parent), None)
    if draft.parent is None or parent is None or parent is draft:
        return None
    hunks = draft.diff if draft.diff is not None else diff(parent.text, draft.text)
    return list(diff_rows(parent.text, draft.text, hunks))


def diff_rows(old: str, new: str, hunks: tuple[Hunk, ...], context: int = CONTEXT) -> Iterator[Row]:
    """The changed lines with a little of what stands around them, the rest folded; nothing where nothing changed."""
    if not hunks:
        return
    before, after = lines_of(old), lines_of(new)
    at = 0
    for number, hunk in enumerate(hunks):
        yield from _unchanged(after[at : hunk.new_start], context if number else 0, context)
        yield from _side("old", before, hunk.old_start, hunk.old_end, hunk.old_marks)
        yield from _side("new", after, hunk.new_start, hunk.new_end, hunk.new_marks)
        at = hunk.new_end
    rest = after[at:]
    if rest and rest[-1] == "":
        rest.pop()  # what follows the final line feed is no line
    yield from _unchanged(rest, context, 0)


def _unchanged(lines: list[str], head: int, tail: int) -> Iterator[Row]:
    hidden = len(lines) - head - tail
    if hidden <= 1:
        yield from (Row("same", line) for line in lines)
        return
    yield from (Row("same", line) for line in lines[:head])
    yield Row("fold", f"{hidden} unchanged lines")
    yield from (Row("same", line) for line in lines[len(lines) - tail :])


def _side(
    kind: Literal["old", "new"], lines: list[str], start: int, end: int, marks: tuple[tuple[int, int, int], ...]
) -> Iterator[Row]:
    for number in range(start, min(end, len(lines))):
        spans = tuple(sorted((a, b) for line, a, b in marks if line == number))
        yield Row(kind, lines[number], spans)
