"""Runs of any shape for property tests, built from the dataclasses' own types."""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Mapping
from typing import Any

from hypothesis import strategies as st

from reflect_lab.core.run import Run

WORDS = st.text(max_size=12)
FRAGMENTS = st.sampled_from(
    ["<x-hit>", "</pre></div><x-hit>", "&lt;", '" onload="x-hit', "`", "```", "``````", "\n", "\n\n", "\n# x-hit\n",
     "~~~",
     "\n```\n<x-hit>\n", "[x-hit](javascript:x-hit)", "![x-hit](x-hit)", "<http://x-hit>", "| x-hit |", "$x-hit$",
     "\\(x-hit\\)", "**x-hit**", "    ", "\t", "- x-hit\n", "\x1b[31m", "\x07", "\r", "\u202e", "\u200b", "\ud83e",
     "\x00", "\u2028", "\ufe0f\ufe0f", "é", "a\u200db", "\U000e0041", "]]>", "-->", "<!--", "{", "@@ x-hit @@", "x"]
)  # fmt: skip
HOSTILE = st.lists(FRAGMENTS, max_size=6).map("".join)


def runs(text: st.SearchStrategy[str] = WORDS) -> st.SearchStrategy[Run]:
    """Any run; every text of it is drawn from `text`."""
    return typing.cast("st.SearchStrategy[Run]", _of_type(Run, text, {}))


def _of_type(kind: Any, text: st.SearchStrategy[str], known: dict[Any, st.SearchStrategy[Any]]) -> Any:
    if kind not in known:
        known[kind] = _build(kind, text, known)
    return known[kind]


def _build(kind: Any, text: st.SearchStrategy[str], known: dict[Any, st.SearchStrategy[Any]]) -> Any:
    plain = {
        str: text,
        int: st.integers(-5, 10**9),
        bool: st.booleans(),
        float: st.floats(allow_nan=False, allow_infinity=False, width=32),
        type(None): st.none(),
        object: st.one_of(st.none(), st.booleans(), st.integers(-5, 5), text, st.lists(text, max_size=2)),
    }
    if kind in plain:
        return plain[kind]
    if dataclasses.is_dataclass(kind):
        hints = typing.get_type_hints(kind)
        fields = {f.name: _of_type(hints[f.name], text, known) for f in dataclasses.fields(kind) if f.name != "schema"}
        built = st.builds(typing.cast("type[Any]", kind), **fields)
        return st.none().flatmap(lambda _: built)  # keeps the strategy's own description short
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin is typing.Literal:
        return st.sampled_from(arguments)
    if origin in (typing.Union, types.UnionType):
        return st.one_of([_of_type(part, text, known) for part in arguments])
    if origin is tuple and arguments[-1] is Ellipsis:
        return st.lists(_of_type(arguments[0], text, known), max_size=2).map(tuple)
    if origin is tuple:
        return st.tuples(*[_of_type(part, text, known) for part in arguments])
    assert origin is Mapping, kind
    return st.dictionaries(text, _of_type(arguments[1], text, known), max_size=2)
