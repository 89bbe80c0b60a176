"""Parts that the fixture runs are made of."""

from __future__ import annotations

import difflib

from reflect_lab.core.critique import Ground
from reflect_lab.core.run import Hunk, LedgerRow


def hunks(old: str, new: str) -> tuple[Hunk, ...]:
    """Line hunks; where one line became one line, the changed words are marked."""
    before, after = old.split("\n"), new.split("\n")
    found = []
    for tag, a, b, c, d in difflib.SequenceMatcher(a=before, b=after, autojunk=False).get_opcodes():
        if tag == "equal":
            continue
        old_marks, new_marks = [], []
        for shift in range(min(b - a, d - c)):
            words = difflib.SequenceMatcher(a=before[a + shift], b=after[c + shift], autojunk=False)
            for word_tag, i, j, k, m in words.get_opcodes():
                if word_tag != "equal":
                    old_marks += [(a + shift, i, j)] if j > i else []
                    new_marks += [(c + shift, k, m)] if m > k else []
        found.append(
            Hunk(
                old_start=a,
                old_end=b,
                new_start=c,
                new_end=d,
                old_marks=tuple(old_marks),
                new_marks=tuple(new_marks),
            )
        )
    return tuple(found)


def quoted(kind: str, source: str, text: str, quote: str) -> Ground:
    start = text.index(quote)
    return Ground(kind=kind, source=source, start=start, end=start + len(quote))  # type: ignore[arg-type]


def calls(role: str, round_index: int, call: int, tokens: tuple[int | None, int | None], seconds: float) -> LedgerRow:
    return LedgerRow(
        role=role,  # type: ignore[arg-type]
        round=round_index,
        call=call,
        attempt=1,
        model="smollm2-135m" if role == "generator" else "critic-large",
        status="ok",
        input_tokens=tokens[0],
        output_tokens=tokens[1],
        seconds=seconds,
        finish_reason="stop",
        reserved_tokens=2900,
    )
