"""Reports in words: what comes from drafts and processes is one capped line with nothing invisible in it."""

from __future__ import annotations

from collections.abc import Iterable

from reflect_lab.core.evidence import Finding
from reflect_lab.documents.visible import visible_line

_REPORTED = 20


def shown(text: str, limit: int = 200) -> str:
    """The text as one line of at most `limit` characters; hidden characters by their names."""
    return visible_line(text, limit)


def report(summary: str, findings: Iterable[Finding]) -> str:
    """A check's report: a summary line, then each message that is no pass on a line of its own, advice last,
    capped."""
    told = [f.message for f in sorted(findings, key=lambda f: f.status == "advisory") if f.status != "passed"]
    more = [f"and {len(told) - _REPORTED} more"] if len(told) > _REPORTED else []
    return "\n".join([summary, *(f"- {message}" for message in told[:_REPORTED]), *more])


def counted(number: int, one: str, many: str | None = None) -> str:
    """`1 case`, `3 cases`."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def raised(fault: BaseException) -> str:
    """`RuntimeError: boom`, in one line. An exception of somebody else's class may fail to say its text."""
    name = shown(type(fault).__name__, 80)
    try:
        said = shown(str(fault), 300)
    except Exception as second:
        return f"{name}, whose text can't be made ({shown(type(second).__name__, 80)})"
    return f"{name}: {said}" if said else name
