"""Parts that the fixture runs are made of."""

from __future__ import annotations

from reflect_lab.core.critique import Ground
from reflect_lab.core.run import LedgerRow


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
