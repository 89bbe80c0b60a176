"""The `citations` check: what a draft cites is one of the given sources."""

from __future__ import annotations

import asyncio
import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import replace

from reflect_lab.core.evidence import Finding, Location, Rank
from reflect_lab.core.run import Draft
from reflect_lab.core.task import CheckSpec
from reflect_lab.documents.suggest import nearest
from reflect_lab.documents.suggest import shown as shown_option
from reflect_lab.evidence.check import Options, Report, Surroundings, one_requirement
from reflect_lab.evidence.kinds.brackets import Bracket, brackets
from reflect_lab.evidence.wording import counted, shown

_MOST = 50
_LONGEST_QUOTE = 200
_BETWEEN = re.compile(r"[,;|&\uff0c\uff1b\u3001]")
_DIGITS = re.compile(r"\d+")
_ID = re.compile(r"\w[\w.:/@#\u2010-\u2015\u2212-]*")
"""A word of letters, digits and these signs; all dashes, since some writers put one for another."""
_AROUND = " \t\r\n\\`*\"'\u201c\u201d\u2018\u2019"
"""What may stand around an id in its bracket: signs of emphasis and code, quotation marks, an escape."""


class CitationsCheck:
    """Every id that the draft cites in square brackets (`[doc-3]`, `[S1, S2]`, `[^4]`) is one of the sources.

    Options: `sources` (a list of ids, or a mapping from id to text), `min_citations` (how many different sources must
    be cited; default 0). A bracket (`[ ]`, or a full-width one) is a citation where it holds nothing but ids that are
    sources or that have a digit in them; of one with other words in it, those count that have the form of a source's
    id with letters (`[see doc-7]`). Code, comments, links with an address, definitions and tick boxes are none, and
    neither is what looks like an index (`xs[0]`), unless a source has an id of that form. The ids should come from the
    retriever, not from the model: that is what makes this more than an opinion.

    >>> sources = ["doc-1", "doc-2"]
    >>> print(look("citations", "Paid on Monday [doc-1]. Sent on Friday [doc-7].", {"sources": sources}).summary)
    failed
    - failed doc-7: cites doc-7, which is none of the 2 sources (quote [doc-7])
    >>> print(look("citations", "Paid on Monday.", {"sources": sources, "min_citations": 1}).summary)
    failed
    - failed min_citations: cites 0 sources, at least 1 is needed

    Where all ids that resolve to nothing are ids of sources but for their case, the `fix` writes them as they are.

    >>> look("citations", "Paid on Monday [Doc-1].", {"sources": sources}).evidence.fix
    'Paid on Monday [doc-1].'
    """

    rank: Rank = "deterministic"

    def __init__(self, spec: CheckSpec, surroundings: Surroundings) -> None:
        options = Options(spec, ("sources", "min_citations"))
        given = options.value("sources")
        names = list(given) if isinstance(given, Mapping | list | tuple) else []
        if not names:
            raise options.wrong("sources must be a list of ids, or a mapping from id to text; it holds none")
        for name in names:
            if isinstance(name, bool) or not isinstance(name, str | int) or not _ID.fullmatch(str(name)):
                raise options.wrong(f"the source {shown_option(name)} can't be an id: a word of letters and digits")
        self._sources = {str(name) for name in names}
        self._forms = {_form(name) for name in self._sources}
        self._word_forms = {_form(name) for name in self._sources if _has_digit(name)} - {""}
        self._least = options.count("min_citations") or 0
        if self._least > len(self._sources):
            raise options.wrong(f"min_citations is {self._least}, but there are {len(self._sources)} sources")
        self._requirement = one_requirement(spec)

    async def run(self, draft: Draft) -> Report:
        return await asyncio.to_thread(self._looked_at, draft.text)

    def _looked_at(self, text: str) -> Report:
        looked = self._compare(text)
        mended = self._mended(text) if looked.status == "failed" else None
        is_mended = mended is not None and self._compare(mended).status == "passed"
        return replace(looked, fix=mended) if is_mended else looked

    def _compare(self, text: str) -> Report:
        cited: dict[str, str] = {}
        for quote, name in self._cited(text):
            cited.setdefault(name, quote)
        unresolved = [(name, quote) for name, quote in cited.items() if name not in self._sources]
        resolved = len(cited) - len(unresolved)
        findings = [self._finding(name, quote) for name, quote in unresolved[:_MOST]]
        if resolved < self._least:
            need = "is" if self._least == 1 else "are"
            message = f"cites {counted(resolved, 'source')}, at least {self._least} {need} needed"
            findings.append(
                Finding(
                    id="min_citations",
                    status="failed",
                    message=message,
                    requirement=self._requirement,
                    location=Location(kind="whole"),
                )
            )
        summary = f"{counted(len(cited), 'id')} cited, {counted(resolved, 'source')} found"
        return Report.of(summary, findings)

    def _mended(self, text: str) -> str | None:
        """The text with ids in the case of their sources; None where that changes nothing."""
        by_folded = {name.casefold(): name for name in self._sources}
        if len(by_folded) < len(self._sources):
            return None
        parts, end = [], 0
        for bracket, names in self._citations(text):
            quote = text[bracket.start : bracket.end]
            for name in names:
                if name not in self._sources and name.casefold() in by_folded:
                    quote = quote.replace(name, by_folded[name.casefold()])
            parts += [text[end : bracket.start], quote]
            end = bracket.end
        mended = "".join([*parts, text[end:]])
        return mended if mended != text else None

    def _cited(self, text: str) -> Iterator[tuple[str, str]]:
        """Each id that is cited, with its bracket as it stands in the draft (itself, where that is long)."""
        for bracket, names in self._citations(text):
            quote = text[bracket.start : bracket.end]
            for name in names:
                yield quote if len(quote) <= _LONGEST_QUOTE else name, name

    def _citations(self, text: str) -> Iterator[tuple[Bracket, list[str]]]:
        """Each bracket that is a citation, with its ids."""
        for bracket in brackets(text):
            names = self._names(bracket)
            if names:
                yield bracket, names

    def _names(self, bracket: Bracket) -> list[str]:
        """The ids that a bracket cites; none where it is no citation."""
        inner = _visible(bracket.inner)
        is_footnote = inner.lstrip(_AROUND).startswith("^")
        names = [part.strip(_AROUND).lstrip("^@#") for part in _BETWEEN.split(inner)]
        if all(self._is_citation(name, bracket.is_glued and not is_footnote) for name in names):
            return names
        words = [word if word in self._sources else word.rstrip(".:/@#-") for word in _ID.findall(inner)]
        return [word for word in words if _has_digit(word) and _form(word) in self._word_forms]

    def _is_citation(self, name: str, may_be_index: bool) -> bool:
        if name in self._sources:
            return True
        if may_be_index and _form(name) not in self._forms:
            return False
        return _ID.fullmatch(name) is not None and _has_digit(name)

    def _finding(self, name: str, quote: str) -> Finding:
        near = nearest(name, sorted(self._sources), cutoff=0.8)
        hint = f"; the nearest is {near}" if near and near.casefold() == name.casefold() else ""
        return Finding(
            id=shown(name, 120),
            status="failed",
            message=f"cites {shown(name, 80)}, which is none of the {counted(len(self._sources), 'source')}{hint}",
            requirement=self._requirement,
            location=Location(kind="quote", value=quote),
        )


def _form(name: str) -> str:
    """What ids of one kind have in common: all but the digits, whatever their case."""
    return _DIGITS.sub("", name).casefold()


def _has_digit(name: str) -> bool:
    return any(char.isdigit() for char in name)


def _visible(text: str) -> str:
    """Without the characters that nobody sees, which would make another word of an id."""
    return text if text.isascii() else "".join(char for char in text if unicodedata.category(char) != "Cf")
