"""The `text` check: patterns that a draft must or must not match, and its length in words. It is not a gate."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from reflect_lab.core.evidence import Finding, Location, Rank
from reflect_lab.core.run import Draft
from reflect_lab.core.task import CheckSpec
from reflect_lab.evidence.check import Options, Report, Surroundings, one_requirement
from reflect_lab.evidence.sandbox import strongest, text_runner
from reflect_lab.evidence.sandbox.caged import Caged
from reflect_lab.evidence.sandbox.limits import Limits
from reflect_lab.evidence.wording import counted, shown

_SEARCH = Limits(wall_s=5.0, cpu_s=5)
_WHOLE = Location(kind="whole")
_PARTS = re.compile("[\u2012-\u2015\u2800\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufeff]")
"""What parts words without being a space. Soft hyphens and joiners stand within a word."""
_CJK = re.compile("[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U000323af]")


class TextCheck:
    """Options: `must`, `must_not` (regular expressions, searched), `min_words`, `max_words`.

    A text that looks otherwise to a program (full-width letters, zero-width characters) matches `must_not` as it looks
    to people; letters of other alphabets that look alike do not.

    The searching happens in a process that can be ended: a pattern may take exponential time on some text. One that got
    no answer in time is an `error`, whatever the reason: it says nothing about the draft.

    >>> print(look("text", "Dear Ms Ito,\\nit is your fault.", {"must": ["order"], "must_not": ["fault"]}).summary)
    failed
    - failed must:1: must match order
    - failed must_not:1: must not match fault (line 2)
    >>> print(look("text", "Two words.", {"min_words": 3}).summary)
    failed
    - failed min_words: 2 words, at least 3 are needed

    Where spaces at the ends of lines and of the text are all that is wrong, the `fix` is the text without them.

    >>> look("text", "Dear Ms Ito, \\nthank you.", {"must_not": ["(?m)[ \\t]+$"]}).evidence.fix
    'Dear Ms Ito,\\nthank you.'
    """

    rank: Rank = "deterministic"

    def __init__(self, spec: CheckSpec, surroundings: Surroundings) -> None:
        options = Options(spec, ("must", "must_not", "min_words", "max_words"))
        self._requirement = one_requirement(spec)
        self._must, self._must_not = options.texts("must"), options.texts("must_not")
        self._min, self._max = options.count("min_words"), options.count("max_words")
        if self._min is not None and self._max is not None and self._min > self._max:
            raise options.wrong(f"min_words ({self._min}) is over max_words ({self._max})")
        if not (self._must or self._must_not) and self._min is None and self._max is None:
            raise options.wrong("nothing to check; give must, must_not, min_words or max_words")
        for pattern in (*self._must, *self._must_not):
            try:
                re.compile(pattern)
            except (re.error, RecursionError, OverflowError) as error:
                raise options.wrong(f"{shown(pattern)} is no regular expression: {error}") from None

    async def run(self, draft: Draft) -> Report:
        looked = await self._looked_at(draft.text)
        mended = without_trailing_space(draft.text)
        if looked.status != "failed" or not self._must_not or mended == draft.text:
            return looked
        is_mended = (await self._looked_at(mended)).status == "passed"
        return replace(looked, fix=mended) if is_mended else looked

    async def _looked_at(self, text: str) -> Report:
        caged = await self._searched(text)
        findings = [*([] if caged is None else self._patterns(text, caged)), *self._lengths(text)]
        failed = sum(f.status == "failed" for f in findings)
        summary = f"{counted(failed, 'text rule')} of {len(findings)} broken" if failed else "all text rules are kept"
        looked = Report.of(summary, findings)
        return (
            looked if caged is None else replace(looked, sandbox=caged.sandbox(None), provenance=caged.provenance(text))
        )

    async def _searched(self, text: str) -> Caged | None:
        """What became of the search; None where there is no pattern to search for."""
        patterns = [*self._must, *self._must_not]
        if not patterns:
            return None
        job = {"mode": "search", "patterns": patterns, "plain_from": len(self._must), "text": text}
        return await strongest.run(Path(text_runner.__file__), job, _SEARCH)

    def _patterns(self, text: str, caged: Caged) -> list[Finding]:
        patterns = [*self._must, *self._must_not]
        spans = {a.get("pattern"): a for a in caged.answers if "pattern" in a}
        names = [f"must:{n}" for n in range(1, len(self._must) + 1)]
        names += [f"must_not:{n}" for n in range(1, len(self._must_not) + 1)]
        return [
            self._unknown(name, pattern, caged)
            if number not in spans or caged.malformed
            else self._pattern(name, pattern, spans[number])
            for number, (name, pattern) in enumerate(zip(names, patterns, strict=True))
        ]

    def _pattern(self, name: str, pattern: str, answer: Mapping[str, object]) -> Finding:
        span, is_wanted = answer["span"], name.startswith("must:")
        place = _WHOLE
        if isinstance(span, list) and not is_wanted:
            place = Location(kind="line", value=str(answer["line"]))
        message = f"must match {shown(pattern)}" if is_wanted else f"must not match {shown(pattern)}"
        is_kept = (span is not None) == is_wanted
        return self._finding(name, is_kept, message, place)

    def _unknown(self, name: str, pattern: str, caged: Caged) -> Finding:
        why = f"no answer within {_SEARCH.wall_s:g} s" if caged.end == "timeout" else "the search ended without answer"
        return Finding(
            id=name, status="error", message=f"{shown(pattern)}: {why}", requirement=self._requirement
        )  # fmt: skip

    def _lengths(self, text: str) -> list[Finding]:
        length = count_words(text)
        findings = []
        if self._min is not None:
            message = f"{counted(length, 'word')}, at least {self._min:,} are needed"
            findings.append(self._finding("min_words", length >= self._min, message))
        if self._max is not None:
            message = f"{counted(length, 'word')}, at most {self._max:,} are allowed"
            findings.append(self._finding("max_words", length <= self._max, message))
        return findings

    def _finding(self, name: str, is_kept: bool, message: str, place: Location = _WHOLE) -> Finding:
        return Finding(
            id=name,
            status="passed" if is_kept else "failed",
            message=message,
            requirement=self._requirement,
            location=None if is_kept else place,
        )


def without_trailing_space(text: str) -> str:
    """The text without spaces, tabs and carriage returns at the ends of its lines, and without empty lines at its
    end."""
    lines = [line.rstrip(" \t\r") for line in text.split("\n")]
    end = "\n" if text.endswith("\n") else ""
    return "\n".join(lines).rstrip("\n") + end


def count_words(text: str) -> int:
    """Words as people count them: runs between spaces, long dashes and invisible characters that hold a letter or
    digit; each CJK character is one."""
    total = 0
    for run in _CJK.sub(" x ", _PARTS.sub(" ", text)).split():
        total += any(unicodedata.category(c)[0] in "LN" for c in run)
    return total
