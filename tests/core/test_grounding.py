"""What counts as a quote, and where it is found."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reflect_lab.core.critique import RaisedIssue
from reflect_lab.core.evidence import Evidence, Finding
from reflect_lab.core.grounding import Grounded, Sources
from reflect_lab.core.policy import Policy, Rules
from reflect_lab.core.run import Draft
from reflect_lab.core.runs_of_words import Runs, Source, Thresholds
from reflect_lab.core.task import Fact, Requirement, Task
from reflect_lab.core.words import is_content, words

TASK = Task(
    text="Write a notice about the lift repair for 1,204,331 readers.",
    requirements=(
        Requirement(id="R1", text="states on which floor the lift is stuck"),
        Requirement(id="R2", text="polite"),
    ),
    facts=(Fact(index=0, text="The order number is KET-7731"), Fact(index=1, text="It costs 12,04,331 rupees today")),
)
EVIDENCE = Evidence(
    source="tests",
    kind="custom",
    rank="deterministic",
    status="failed",
    text="log\nmemory request exceeds the quota",
    findings=(Finding(id="q", status="failed", message="memory request exceeds the quota"),),
)


def ground(
    evidence: str, requirement: str | None = None, draft: str = "", policy: Policy | None = None
) -> Grounded | str:
    sources = Sources(TASK, Draft(index=0, text=draft), [EVIDENCE], policy or Policy())
    return sources.ground(RaisedIssue(id="a", severity="blocking", evidence=evidence, requirement=requirement))


@pytest.mark.parametrize(
    ("quote", "kind", "source"),
    [
        ("it never says ON WHICH   FLOOR it is", "requirement", "R1"),
        ("hardly polite here", "requirement", "R2"),
        ("the lift repair is missing", "task", "task"),
        ("for 1204331 readers", "task", "task"),
        ("the order number is unknown", "fact", "fact:0"),
        ("costs 1 204 331 rupees".replace(" 204 ", "\u202f204\u202f"), "fact", "fact:1"),
        ("the memory request exceeds it", "evidence", "evidence:tests"),
    ],
)
def test_a_quote_is_found_in_its_source_with_offsets_into_the_original(quote: str, kind: str, source: str) -> None:
    found = ground(quote)
    assert isinstance(found, Grounded) and (found.ground.kind, found.ground.source) == (kind, source)
    texts = {"task": TASK.text, "evidence:tests": EVIDENCE.text}
    texts |= {r.id: r.text for r in TASK.requirements} | {f"fact:{f.index}": f.text for f in TASK.facts}
    assert found.ground.start is not None and found.ground.end is not None
    shared = [w.text for w in words(texts[source][found.ground.start : found.ground.end])]
    assert " ".join(shared) in " ".join(w.text for w in words(quote))


@pytest.mark.parametrize(
    "quote", ["", "R1", "the lift", "is on the", "order number", "log memory", "it feels weak overall"]
)
def test_too_little_is_no_quote(quote: str) -> None:
    assert isinstance(ground(quote), str)


def test_contractions_are_function_words() -> None:
    task = Task(text="If it doesn't have the floor, we won't be there.")
    sources = Sources(task, Draft(index=0, text=""), [], Policy())
    for evidence in ("it doesn't have the time", "we won\u2019t be late"):
        assert isinstance(sources.ground(RaisedIssue(id="a", severity="blocking", evidence=evidence)), str)


def test_a_stricter_rule_for_quotes_keeps_less() -> None:
    issue = RaisedIssue(id="a", severity="blocking", evidence="that the lift is slow")
    assert isinstance(Sources(TASK, Draft(index=0, text=""), [], Policy()).ground(issue), Grounded)
    for thresholds in (Thresholds(words=4), Thresholds(content_words=2)):
        assert isinstance(Sources(TASK, Draft(index=0, text=""), [], Policy(), thresholds).ground(issue), str)


def test_naming_a_requirement_is_a_ground_and_naming_another_is_none() -> None:
    named = ground("I think so", requirement="R2")
    assert isinstance(named, Grounded) and named.key == "R2"
    assert isinstance(ground("I think so", requirement="R7"), str)


def test_the_draft_counts_only_where_the_policy_allows_it() -> None:
    quote, draft = "glows for many hours", "The lamp glows for many hours."
    refused = ground(quote, draft=draft)
    assert isinstance(refused, str) and "only the draft" in refused
    allowed = ground(quote, draft=draft, policy=Policy(rules=Rules(draft_quotes="allow")))
    assert isinstance(allowed, Grounded) and allowed.ground.kind == "draft"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1,204,331", ["1204331"]),
        ("12,04,331", ["1204331"]),
        ("1'204'331", ["1204331"]),
        ("1.204.331", ["1204331"]),
        ("7.351", ["7351"]),
        ("2.50", ["2.5"]),
        ("2.05", ["2.05"]),
        ("0.125", ["0.125"]),
        ("1,2,3", ["1", "2", "3"]),
        ("KET-7731 R1", ["ket", "7731", "r1"]),
        ("cafe\u0301", ["café"]),
        ("没有列", ["没", "有", "列"]),
    ],
)
def test_words_and_numbers_by_value(text: str, expected: list[str]) -> None:
    assert [w.text for w in words(text)] == expected


@given(st.text(max_size=60))
def test_words_cover_their_text_in_order(text: str) -> None:
    found = words(text)
    assert all(a.end <= b.start for a, b in itertools.pairwise(found))
    assert all(0 <= w.start < w.end <= len(text) for w in found)


@given(st.text(max_size=40), st.text(max_size=40))
def test_grounding_never_fails_on_any_text(quote: str, draft: str) -> None:
    found = ground(quote, draft=draft)
    assert isinstance(found, Grounded) or found


WORDS = st.lists(st.sampled_from(["the", "of", "lift", "bad", "good"]), max_size=12).map(" ".join)


@given(quote=WORDS, text=WORDS)
def test_the_longest_shared_run_is_found_as_by_trying_them_all(quote: str, text: str) -> None:
    quoted, own = [w.text for w in words(quote)], [w.text for w in words(text)]
    least = min(3, len(own))
    runs = [
        (start, end)
        for start in range(len(own))
        for end in range(start + max(least, 1), len(own) + 1)
        if any(quoted[i : i + end - start] == own[start:end] for i in range(len(quoted)))
        and any(is_content(word) for word in own[start:end])
    ]
    found = Runs(Source("task", "task", text)).longest(words(quote))
    assert (found is None) == (not runs)
    if found is not None:
        assert found in runs
        assert found[1] - found[0] == max(end - start for start, end in runs)


def test_a_critic_that_repeats_itself_is_read_as_well() -> None:
    task = Task(text="bad " * 20_000)
    sources = Sources(task, Draft(index=0, text="bad " * 20_000), [], Policy())
    found = sources.ground(RaisedIssue(id="a", severity="blocking", evidence="really " + "bad " * 20_000))
    assert isinstance(found, Grounded) and (found.ground.start, found.ground.end) == (0, 4 * 20_000 - 1)


@pytest.mark.parametrize("row", ["1'1" * 60_000, "111." * 50_000 + "111,1", "11," * 60_000 + "1"])
def test_an_endless_row_of_digits_and_separators_is_read_in_one_walk(row: str) -> None:
    assert words(row)[0].start == 0 and words(row)[-1].end == len(row)
