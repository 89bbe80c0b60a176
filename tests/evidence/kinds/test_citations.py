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
    ("No citation: [sic], [note], [see below], [ ], [x], a[x0].", []),
    ("- [ ] open\n- [x] done\n", []),
    ("A link [doc-9](https://example.org) and an image ![doc-9](x.png).", []),
    ("A reference [doc-9][1] and its definition\n[1]: https://example.org", []),
    ("Code `xs = [7]` is none.\n```python\nys = [8]\n```\nNor\n~~~\n[9]\n~~~\n", []),
    ("```\nnever closed [9]", []),
    ("The reader of an escaped \\[doc-9\\] sees the bracket.", ["doc-9"]),
    ("Glued to its word[1] and to another[S9].", ["1", "S9"]),
    ("An index a[0b], and f(x)[x0].", []),
    ("Where 4 is a source, paid[8][9] may be citations; so may sent (Monday)[7].", ["8", "9", "7"]),
    ("So [doc-7][doc-8].", ["doc-7", "doc-8"]),
    ("So [7][8], and [S1, S2][^9].", ["7", "8", "S1", "S2", "9"]),
    ("So [doc-8] [doc-9].", ["doc-8", "doc-9"]),
    ("So [doc-8][doc-9].\n\n[doc-8]: https://example.org/8\n[doc-9]: https://example.org/9", ["doc-8", "doc-9"]),
    ("As [doc-9]: refunds take five days.", ["doc-9"]),
    ("[doc-9]: refunds take five days.", ["doc-9"]),
    ("[doc-9]: Monday", ["doc-9"]),
    ("[^9]: a footnote's own text, which may cite [doc-8].", ["doc-8"]),
    ("Paid on Monday![doc-9]", ["doc-9"]),
    ("![plan7]\n\n[plan7]: plan.png", []),
    ("Paid [doc-9](see page 4), [doc-8](2024), [doc-7]().", ["doc-9", "doc-8", "doc-7"]),
    ('A link [doc-9](https://example.org/a_(b) "its title") and [v2](notes.md).', []),
    ("Nested [see [doc-9]], [[doc-8]] and [[doc-7]](https://example.org).", ["doc-9", "doc-8", "doc-7"]),
    ("In two lines [doc-1,\n  doc-9], in two paragraphs [doc-7,\n\ndoc-8].", ["doc-9"]),
    ("Full width 【doc-9】 and ［doc-8，doc-1］.", ["doc-9", "doc-8"]),
    ("With words [see doc-9], [doc-1, p. 4], [Source: Doc-8.], [doc-1 and doc-7].", ["doc-9", "Doc-8", "doc-7"]),
    ("As others write [@doc-9], [#8], ['doc-7'], [**doc-6**].", ["doc-9", "8", "doc-7", "doc-6"]),
    ("In the letters of code [`doc-5`].", ["doc-5"]),
    ("Another dash [doc\u20119], a range [1\u20139].", ["doc\u20119", "1\u20139"]),
    ("With a space that nobody sees [doc-\u200b8].", ["doc-8"]),
    ("[" + "doc-1, " * 40 + "doc-9]", ["doc-9"]),
    ("<!-- [doc-9] --> seen [doc-8]", ["doc-8"]),
    ("```x``` is code in a line.\n\nPaid [doc-9].", ["doc-9"]),
    ("`[doc-9]`` is no code, nor is \\`[doc-6]\\`.", ["doc-9", "doc-6"]),
    ("``[doc-8] ` [doc-7]`` is code.", []),
    ("One tick ` here.\n\n[doc-9] and there `.", ["doc-9"]),
    ("- a list\n  ```\n  [7]\n\n  [8]\n  ```\n  [doc-9]", ["doc-9"]),
    ("```\n[7]\n```foo\n[8]\n````\n[doc-9]", ["doc-9"]),
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


async def test_what_nobody_reads_as_a_citation_does_not_count_as_one() -> None:
    for draft in ("<!-- [doc-1] -->", "`[doc-1]`", "[doc-1]: https://example.org", "```\n[doc-1]\n```"):
        assert await unresolved(draft, min_citations=1) == ["min_citations"]
    assert await unresolved("[doc-1][doc-2]", min_citations=2) == []
    assert await unresolved("[doc-1][doc-9]", min_citations=1) == ["doc-9"]
    assert await unresolved("[doc-1, page 4]", min_citations=1) == []


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


@pytest.mark.parametrize(
    "draft",
    [
        "[" * 200_000,
        "[d1" * 60_000,
        "`" * 200_000,
        "```\n" * 50_000,
        "[^" * 90_000,
        "[a](" * 50_000,
        "[a](" + "/" * 200_000,
        "<!--" * 50_000 + "--",
        "--><!--" * 30_000,
        "[d1][" * 40_000,
        "\n[a]:" * 40_000,
        "> " * 100_000,
        "\n \n" * 60_000,
        "![" * 90_000,
        "`` ` " * 40_000,
        "[d1]" * 50_000,
        "[" + "d1," * 60_000 + "]",
        "[d 1" * 40_000 + "]",
    ],
)
async def test_a_hostile_draft_takes_no_more_than_moments(draft: str) -> None:
    started = time.monotonic()
    found = await evidence_of("citations", SOURCES, draft)
    assert time.monotonic() - started < 5 and len(found.findings) <= 50
