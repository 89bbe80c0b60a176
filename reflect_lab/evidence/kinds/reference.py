"""The `reference` check: the draft equals a given answer; JSON by value, anything else by normalised lines."""

from __future__ import annotations

import asyncio
import json
from decimal import Decimal

from reflect_lab.core.evidence import Finding, Location, Rank
from reflect_lab.core.run import Draft
from reflect_lab.core.task import CheckSpec
from reflect_lab.evidence.check import Options, Report, Surroundings, one_requirement
from reflect_lab.evidence.kinds.json_strict import NotStrict, unique_pairs
from reflect_lab.evidence.wording import shown


class ReferenceCheck:
    """Options: `text`, the answer itself, and `language`, which says what it is written in. Not a gate.

    >>> print(look("reference", '{"total": 12.0, "items": [1, 3]}', {"text": '{"items": [1, 2], "total": 12}'}).summary)
    failed
    - failed reference: differs from the reference at $.items[1] (path $.items[1])
    """

    rank: Rank = "deterministic"

    def __init__(self, spec: CheckSpec, surroundings: Surroundings) -> None:
        options = Options(spec, ("text", "language"))
        self._reference = options.text("text")
        if not self._reference.strip():
            raise options.wrong("the reference is empty")
        try:
            _parsed(self._reference)
        except NotStrict as problem:
            raise options.wrong(f"the reference has no one value: {problem}") from None
        self._requirement = one_requirement(spec)

    async def run(self, draft: Draft) -> Report:
        return await asyncio.to_thread(self._compare, draft.text)

    def _compare(self, text: str) -> Report:
        difference, location = difference_between(text, self._reference)
        finding = Finding(
            id="reference",
            status="failed" if difference else "passed",
            message=difference or "equal to the reference",
            requirement=self._requirement,
            location=location,
        )
        summary = "not equal to the reference" if difference else "equal to the reference"
        return Report.of(summary, [finding])


def difference_between(text: str, reference: str) -> tuple[str | None, Location | None]:
    """How a text differs from the reference, in words, and where; None where they are equal."""
    wanted = _parsed(reference)
    if wanted is not None:
        try:
            actual = _parsed(text)
        except NotStrict as problem:
            return f"the draft has no one value: {shown(str(problem))}", Location(kind="whole")
        if actual is None:
            return "the reference is JSON, the draft is not", Location(kind="whole")
        path = _first_difference(actual[0], wanted[0], "$")
        return (
            (f"differs from the reference at {shown(path)}", Location(kind="path", value=path))
            if path
            else (None, None)
        )
    ours, theirs = normalised_lines(text), normalised_lines(reference)
    for (number, line), (_, wanted_line) in zip(ours, theirs, strict=False):
        if line != wanted_line:
            return "a line differs from the reference", Location(kind="line", value=str(number))
    if len(ours) != len(theirs):
        message = f"has {len(ours)} lines, the reference has {len(theirs)}"
        # Too many: the first of those that are too many. Too few: nothing of the draft is the place of what is missing.
        odd = ours[len(theirs)][0] if len(ours) > len(theirs) else None
        return message, Location(kind="whole") if odd is None else Location(kind="line", value=str(odd))
    return None, None


def normalised_lines(text: str) -> list[tuple[int, str]]:
    """The lines that hold something, without trailing whitespace, with their numbers from 1."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return [(number, line.rstrip()) for number, line in enumerate(lines, 1) if line.strip()]


def _parsed(text: str) -> tuple[object] | None:
    """The value of a JSON text; None where it is none. Raises NotStrict for a key that stands there twice."""
    try:
        value = json.loads(
            text, parse_float=Decimal, parse_int=Decimal, parse_constant=_refuse, object_pairs_hook=unique_pairs
        )
    except NotStrict:
        raise
    except (ValueError, ArithmeticError, RecursionError):
        return None
    return (value,)


def _refuse(name: str) -> object:
    raise ValueError(f"{name} is not JSON")


def _first_difference(one: object, other: object, path: str) -> str | None:
    """The path of the first difference of two JSON values; numbers by value, objects without order."""
    todo = [(one, other, path)]
    while todo:
        left, right, at = todo.pop()
        if type(left) is not type(right):
            return at
        if isinstance(left, dict) and isinstance(right, dict):
            odd = [key for key in (*left, *right) if key not in left or key not in right]
            if odd:
                return f"{at}.{odd[0]}"
            todo += [(left[key], right[key], f"{at}.{key}") for key in reversed(list(right))]
        elif isinstance(left, list) and isinstance(right, list):
            if len(left) != len(right):
                return at
            todo += [(a, b, f"{at}[{n}]") for n, (a, b) in reversed(list(enumerate(zip(left, right, strict=True))))]
        elif left != right:
            return at
    return None
