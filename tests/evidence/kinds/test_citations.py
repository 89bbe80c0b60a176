"""The `citations` check: what is a citation, what resolves, what does not."""

from __future__ import annotations

import time

import pytest

from reflect_lab.core.errors import WrongUse
from tests.evidence.evidence_support import evidence_of

SOURCES = {"sources": ["doc-1", "doc-2", "S3", 4]}


async def unresolved(draft: str, **options: object) -> list[str]:
    found = await evidence_of("citations", {**SOURCES, **options}, draft)
    assert (found.status == "failed") == bool(found.findings)
    return [finding.id for finding in found.findings]


@pytest.mark.parametrize(("draft", "ids"), [
    ("It was paid [doc-1] and sent [doc-2].", []),
    ("It was paid [doc-9].", ["doc-9"]),
    ("Both [doc-1, doc-9; S3].", ["doc-9"]),
    ("A footnote[^4] and[^5] another.", ["5"]),
    ("A footnote [^4] and [^5].", ["5"]),
    ("[doc-9] twice [doc-9], once [doc-8]", ["doc-9", "doc-8"]),
    ("Case matters: [Doc-1].", ["Doc-1"]),
    ("No citation: [sic], [note], [see below], [ ], [x], a[x0], xs[1][2].", []),
    ("- [ ] open\n- [x] done\n", []),
    ("A link [doc-9](https://example.org) and an image ![doc-9](x.png).", []),
    ("A reference [doc-9][1] and its definition\n[1]: https://example.org", []),
    ("Code `xs = [7]` is none.\n```python\nys = [8]\n```\nNor\n~~~\n[9]\n~~~\n", []),
    ("```\nnever closed [9]", []),
    ("escaped \\[doc-9]", []),
    ("Glued to its word[1] and to another[S9].", ["1", "S9"]),
    ("An index a[0b], and xs[0][1].", []),
    ("", []),
])  # fmt: skip
async def test_what_is_a_citation_and_whether_it_resolves(draft: str, ids: list[str]) -> None:
    assert await unresolved(draft or "nothing") == ids


async def test_a_finding_quotes_the_draft_and_names_the_nearest_id() -> None:
    found = await evidence_of("citations", SOURCES, "Paid [DOC-1].", covers=["R1"])
    (finding,) = found.findings
    assert finding.location and (finding.location.kind, finding.location.value) == ("quote", "[DOC-1]")
    assert finding.message == "cites DOC-1, which is none of the 4 sources; the nearest is doc-1"
    assert finding.requirement == "R1" and found.rank == "deterministic"
    assert found.fix == "Paid [doc-1]."


async def test_so_many_different_sources_must_be_cited() -> None:
    assert await unresolved("[doc-1] [doc-1]", min_citations=2) == ["min_citations"]
    assert await unresolved("[doc-1] [S3]", min_citations=2) == []
    assert await unresolved("[doc-1] [doc-9]", min_citations=2) == ["doc-9", "min_citations"]


async def test_sources_may_be_a_mapping_to_their_texts() -> None:
    found = await evidence_of("citations", {"sources": {"kb7": "Refunds take five days."}}, "Five days [kb7].")
    assert (found.status, found.text) == ("passed", "1 id cited, 1 source found")


@pytest.mark.parametrize(("options", "message"), [
    ({}, "the option sources is missing"),
    ({"sources": []}, "it holds none"),
    ({"sources": "doc-1"}, "must be a list of ids"),
    ({"sources": ["two words"]}, "can't be an id"),
    ({"sources": [True]}, "can't be an id"),
    ({"sources": ["a"], "min_citations": 2}, "there are 1 sources"),
    ({"sources": ["a"], "min_citations": -1}, "a whole number"),
])  # fmt: skip
async def test_options_that_can_not_be_used_are_wrong_use(options: dict[str, object], message: str) -> None:
    with pytest.raises(WrongUse, match=message):
        await evidence_of("citations", options, "x")


@pytest.mark.parametrize("draft", ["[" * 200_000, "[d1" * 60_000, "`" * 200_000, "```\n" * 50_000, "[^" * 90_000])
async def test_a_hostile_draft_takes_no_more_than_moments(draft: str) -> None:
    started = time.monotonic()
    found = await evidence_of("citations", SOURCES, draft)
    assert time.monotonic() - started < 5 and len(found.findings) <= 50
