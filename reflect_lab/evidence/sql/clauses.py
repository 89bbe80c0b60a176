"""Where in a draft's SQL something stands: clauses, by their keywords outside strings, names in quotes and comments."""

from __future__ import annotations

import re
from collections.abc import Iterator

from reflect_lab.core.evidence import Location

_TOKEN = re.compile(
    r"""--[^\n]*|/\*.*?(?:\*/|\Z)|'(?:[^']|'')*(?:'|\Z)|"(?P<quoted>(?:[^"]|"")*)(?:"|\Z)|(?P<word>[^\W\d]\w*)|(?P<bracket>[()])""",
    re.DOTALL,
)
_OPENS = (
    "select", "from", "join", "where", "group", "having", "order", "limit", "offset", "qualify", "window", "union",
    "except", "intersect",
)  # fmt: skip
_JOINS = ("inner", "left", "right", "full", "cross", "natural", "outer", "semi", "anti", "asof", "positional")
_SHOWN = 200


def _clauses(sql: str) -> Iterator[tuple[str, int, int, set[str]]]:
    """Keyword, start, end and the words of each clause, in order. A join's clause holds its condition."""
    keyword, start, words = "", 0, set[str]()
    before: int | None = None  # where the words before JOIN began: LEFT OUTER
    for token in _TOKEN.finditer(sql):
        word = (token["word"] or "").casefold()
        if word in _JOINS:
            before = token.start() if before is None else before
            continue
        if word in _OPENS:
            begin = before if word == "join" and before is not None else token.start()
            if keyword:
                yield keyword, start, begin, words
            keyword, start, words = word, begin, set()
        elif word or token["quoted"]:
            words.add(word or token["quoted"].casefold())
        before = None
    if keyword:
        yield keyword, start, len(sql), words


def clause_of(sql: str, name: str, *keywords: str) -> Location:
    """The first clause of one of these keywords that holds a name; the whole draft where there is none."""
    for keyword, start, end, words in _clauses(sql):
        if keyword in keywords and name.casefold() in words:
            return Location(kind="clause", value=_own(sql[start:end]).strip().rstrip(";").rstrip()[:_SHOWN])
    return Location(kind="whole")


def _own(clause: str) -> str:
    """A clause up to the bracket that closes what it stands in."""
    depth = 0
    for token in _TOKEN.finditer(clause):
        if token["bracket"]:
            depth += 1 if token["bracket"] == "(" else -1
        if depth < 0:
            return clause[: token.start()]
    return clause
