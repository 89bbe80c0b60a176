"""A run document made small enough for a saved cell, in steps that cost the reader least; each step is named.

The decision, the returned draft, the diffs and the issues with their quotes go last, and only where nothing else helps.
Works on the dumped document, so that hashes stay those of the whole texts.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Any

Document = dict[str, Any]
Step = Callable[[Document], str | None]
"""Drops one kind of content from a document, in place; says in words what it dropped, None when it found nothing."""

_CONTEXT = 3
_SURROGATE = re.compile("[\ud800-\udfff]")


def file_size(value: object) -> int:
    """Bytes that a value takes in a saved notebook: JSON indented eight levels deep, a text as a list of its lines."""
    if isinstance(value, str):
        return len(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")) + 12 * (value.count("\n") + 1)
    text = json.dumps(value, ensure_ascii=False, indent=1)
    return len(text.encode("utf-8", "replace")) + 8 * (text.count("\n") + 1)


def fits(value: object, limit: int) -> bool:
    """Whether `file_size` is at most `limit`; a value of far more characters is not measured byte by byte."""
    return _characters(value, limit) >= 0 and file_size(value) <= limit


def _characters(value: object, left: int) -> int:
    """What is left of `left` after the characters of a value's texts and one for every other part; stops below 0."""
    if isinstance(value, str):
        return left - len(value)
    parts: Iterable[object] = ()
    if isinstance(value, dict):
        parts = chain(value, value.values())
    elif isinstance(value, list):
        parts = value
    left -= 1
    for part in parts:
        if left < 0:
            break
        left = _characters(part, left)
    return left


def trim(document: Document, limit: int) -> tuple[Document, list[str]]:
    """The document in at most `limit` bytes (see `file_size`) and what was left out of it, in words."""
    left_out: list[str] = []
    clean, count = encodable(document)
    if count:
        left_out.append(f"{count} characters that are no valid Unicode (each stands as U+FFFD)")
    for step in _steps():
        if fits(clean, limit):
            break
        dropped = step(clean)
        if dropped is not None:
            left_out.append(dropped)
    return clean, left_out


def encodable(value: Any) -> tuple[Any, int]:
    """The same JSON value with every lone surrogate replaced (one for one: offsets stay) and how many there were."""
    if isinstance(value, str):
        return _SURROGATE.subn("\ufffd", value)
    if isinstance(value, list):
        items = [encodable(item) for item in value]
        return [item for item, _ in items], sum(count for _, count in items)
    if isinstance(value, dict):
        pairs = [(encodable(key), encodable(item)) for key, item in value.items()]
        return {key: item for (key, _), (item, _) in pairs}, sum(a + b for (_, a), (_, b) in pairs)
    return value, 0


def _steps() -> Iterator[Step]:
    yield _doubled_draft
    yield _raw_replies
    yield _fixes
    yield _passed_reports
    yield _long_reports
    yield _check_options
    yield _unchanged_lines
    yield _passed_findings
    for characters, entries in ((1_000, 50), (300, 20), (100, 8), (60, 3)):
        yield lambda document, c=characters, e=entries: _cut_everything(document, c, e)  # type: ignore[misc]


def _evidence(document: Document) -> Iterator[Document]:
    for round_ in document["rounds"]:
        yield from round_["evidence"] or ()


def _doubled_draft(document: Document) -> str | None:
    outcome = document["outcome"]
    if outcome is None or outcome["draft"] is None:
        return None
    if all(r["draft"]["text"] != outcome["draft"] for r in document["rounds"]):
        return None
    outcome["draft"] = None
    return "outcome.draft (it is the returned draft's text)"


def _raw_replies(document: Document) -> str | None:
    holders: list[tuple[Document, str]] = [(row, "text") for row in document["ledger"]]
    for round_ in document["rounds"]:
        for draft in (round_["draft"], *(one["draft"] for one in round_["others"])):
            holders += [(draft, "raw"), (draft, "reasoning")]
    found = [(holder, key) for holder, key in holders if holder[key] is not None]
    for holder, key in found:
        holder[key] = None
    return "raw replies and reasoning" if found else None


def _fixes(document: Document) -> str | None:
    found = [e for e in _evidence(document) if e["fix"] is not None]
    for evidence in found:
        evidence["fix"] = None
    return "drafts as checks mended them" if found else None


def _passed_reports(document: Document) -> str | None:
    found = [e for e in _evidence(document) if e["status"] == "passed" and e["text"]]
    for evidence in found:
        evidence["text"] = ""
    return "reports of checks that passed" if found else None


def _long_reports(document: Document, limit: int = 2_000) -> str | None:
    found = [e for e in _evidence(document) if len(e["text"]) > limit]
    for evidence in found:
        evidence["text"] = _cut(evidence["text"], limit)
    return f"reports of checks beyond {limit:,} characters" if found else None


def _check_options(document: Document) -> str | None:
    for check in document["task"]["checks"]:
        check["options"] = {}
    for evidence in _evidence(document):
        evidence["provenance"] = {}
        if evidence["sandbox"] is not None:
            evidence["sandbox"]["limits"] = {}
    return "the code and options of checks, their limits and versions"


def _unchanged_lines(document: Document) -> str | None:
    """Blanks what no diff shows; the count of lines and so every place in a diff stays."""
    drafts = {r["draft"]["index"]: r["draft"] for r in document["rounds"]}
    kept: dict[int, set[int]] = {index: set() for index in drafts}
    for draft in drafts.values():
        for hunk in draft["diff"] or ():
            kept[draft["index"]].update(range(hunk["new_start"] - _CONTEXT, hunk["new_end"] + _CONTEXT))
            kept.get(draft["parent"], set()).update(range(hunk["old_start"] - _CONTEXT, hunk["old_end"] + _CONTEXT))
    blanked: list[str] = []
    for index, draft in drafts.items():
        has_diff = draft["diff"] is not None or any(d["parent"] == index and d["diff"] for d in drafts.values())
        if index == _returned(document) or not has_diff:
            continue
        lines = draft["text"].split("\n")
        draft["text"] = "\n".join(line if number in kept[index] else "" for number, line in enumerate(lines))
        blanked.append(str(index))
    return f"unchanged lines of draft {', '.join(blanked)} (blank here)" if blanked else None


def _passed_findings(document: Document) -> str | None:
    found = False
    for evidence in _evidence(document):
        failed = [f for f in evidence["findings"] if f["status"] != "passed"]
        found = found or len(failed) < len(evidence["findings"])
        evidence["findings"] = failed
    return "findings that passed" if found else None


def _cut_everything(document: Document, characters: int, entries: int) -> str | None:
    """The last resort: every text and list is cut, drafts last and least."""
    rounds = document["rounds"]
    returned = _returned(document)
    wanted = {0, *range(len(rounds) - entries, len(rounds))}
    document["rounds"] = [r for i, r in enumerate(rounds) if i in wanted or r["draft"]["index"] == returned]
    texts = {r["draft"]["index"]: r["draft"]["text"] for r in document["rounds"]}
    for key, value in document.items():
        document[key] = _cut_value(value, characters, entries if key != "rounds" else len(value), key)
    room = characters * 20
    for draft in (r["draft"] for r in document["rounds"]):
        text = texts[draft["index"]]
        draft["text"] = _cut(text, room)
        if len(text) > room or len(texts.get(draft["parent"], "")) > room:
            draft["diff"] = None
    if document["outcome"] is not None and document["outcome"]["draft"] is not None:
        document["outcome"]["draft"] = None
    return f"drafts beyond {room:,} and other texts beyond {characters:,} characters, lists beyond {entries} entries"


_OPEN_MAPPINGS = frozenset({"numbers", "tags", "versions", "models", "prompts", "provenance", "rates"})


def _cut_value(value: Any, characters: int, entries: int, name: str) -> Any:
    if isinstance(value, str):
        return _cut(value, characters)
    if isinstance(value, list):
        return [_cut_value(item, characters, entries, name) for item in value[:entries]]
    if isinstance(value, dict):
        items = list(value.items())
        if name in _OPEN_MAPPINGS:
            items = [(_cut(key, characters), item) for key, item in items[:entries]]
        return {key: _cut_value(item, characters, entries, key) for key, item in items}
    return value


def _cut(text: str, limit: int) -> str:
    """A text cut where it is clearly longer; hashes and ids (at most 64 characters) stay whole."""
    return text if len(text) <= max(limit, 64) else text[:limit] + "…"


def _returned(document: Document) -> int | None:
    outcome = document["outcome"]
    if outcome is None or outcome["draft_index"] is None:
        return document["rounds"][-1]["draft"]["index"] if document["rounds"] else None
    index: int = outcome["draft_index"]
    return index
