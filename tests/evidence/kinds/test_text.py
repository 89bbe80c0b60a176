"""The text check."""

from __future__ import annotations

import time

import pytest

from reflect_lab.core.errors import WrongUse
from reflect_lab.evidence.kinds import text as text_module
from reflect_lab.evidence.kinds.text import count_words
from reflect_lab.evidence.sandbox.limits import Limits
from tests.evidence.evidence_support import evidence_of

LIFT = {"must": ["(?i)caretaker"], "must_not": ["(?i)police"]}


async def test_a_wanted_pattern_that_is_missing_is_one_failed_finding() -> None:
    evidence = await evidence_of("text", LIFT, "Please wait.", covers=("R2",))
    assert evidence.status == "failed" and not evidence.gate and evidence.rank == "deterministic"
    assert [(f.id, f.requirement) for f in evidence.failed_findings] == [("must:1", "R2")]
    assert "must match (?i)caretaker" in evidence.text


async def test_a_forbidden_pattern_is_found_in_its_line() -> None:
    evidence = await evidence_of("text", LIFT, "Call the caretaker\nor the Police.")
    (finding,) = evidence.failed_findings
    assert finding.id == "must_not:1"
    assert finding.location is not None and (finding.location.kind, finding.location.value) == ("line", "2")


async def test_a_text_that_keeps_all_rules_passes() -> None:
    evidence = await evidence_of("text", {**LIFT, "max_words": 3}, "Call the caretaker.")
    assert evidence.status == "passed" and {f.status for f in evidence.findings} == {"passed"}


@pytest.mark.parametrize(("options", "draft", "failed"), [
    ({"min_words": 4}, "Too short.", ["min_words"]),
    ({"min_words": 4}, "This one is long enough.", []),
    ({"max_words": 2}, "one two three", ["max_words"]),
    ({"min_words": 1, "max_words": 3}, "one two three", []),
])  # fmt: skip
async def test_word_limits(options: dict[str, object], draft: str, failed: list[str]) -> None:
    evidence = await evidence_of("text", options, draft)
    assert [f.id for f in evidence.failed_findings] == failed


def test_words_are_counted_as_people_do() -> None:
    assert count_words("A well-known rule — it's 3,499 rupees!") == 6
    assert count_words("猫が好き ok") == 5
    assert count_words(" \n—…") == 0


@pytest.mark.parametrize(("options", "message"), [
    ({"must": ["(unclosed"]}, "no regular expression"),
    ({"must_nott": ["x"]}, "must_not"),
    ({"min_words": 5, "max_words": 4}, "over max_words"),
    ({"min_words": -1}, "min_words"),
    ({"min_words": True}, "min_words"),
    ({"must": [3]}, "must"),
    ({}, "nothing to check"),
    ({"must": [], "must_not": []}, "nothing to check"),
])  # fmt: skip
async def test_options_that_cannot_be_used_are_refused_before_anything_runs(
    options: dict[str, object], message: str
) -> None:
    with pytest.raises(WrongUse, match=message):
        await evidence_of("text", options, "x")


async def test_a_catastrophic_pattern_ends_as_error_and_names_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_module, "_SEARCH", Limits(wall_s=0.5, cpu_s=5))
    start = time.monotonic()
    evidence = await evidence_of("text", {"must": ["a", "(a+)+$"]}, "a" * 40 + "b")
    assert time.monotonic() - start < 2 * (0.5 + 0.5)
    assert (evidence.status, evidence.executions) == ("error", 2)
    assert [f.status for f in evidence.findings] == ["passed", "error"]
    assert "(a+)+$" in evidence.text


@pytest.mark.parametrize(
    "spelled", ["guar\u200bantee", "\uff47\uff55\uff41\uff52antee", "guar\u00adantee", "guar\u2060ant\ufe0fee"]
)
async def test_a_forbidden_word_is_found_as_it_looks(spelled: str) -> None:
    evidence = await evidence_of("text", {"must_not": ["(?i)guarantee"]}, f"Hello.\nWe {spelled} it.")
    (finding,) = evidence.failed_findings
    assert finding.location is not None and (finding.location.kind, finding.location.value) == ("line", "2")


@pytest.mark.parametrize("between", ["\u2800", "\u200b", "\u2014", "\u2013", "\ufeff"])
def test_words_are_parted_by_more_than_spaces(between: str) -> None:
    assert count_words(between.join(["word"] * 500)) == 500
    assert count_words("well-known so\u00adft") == 2
