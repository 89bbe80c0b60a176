"""The reference check."""

from __future__ import annotations

import pytest

from reflect_lab.core.errors import WrongUse
from tests.evidence.evidence_support import evidence_of


@pytest.mark.parametrize(("draft", "reference", "status", "where"), [
    ('{"b": 2.0, "a": [1]}', '{"a": [1.0], "b": 2}', "passed", None),
    ('{"a": [1, 3]}', '{"a": [1, 2]}', "failed", "$.a[1]"),
    ('{"a": true}', '{"a": 1}', "failed", "$.a"),
    ('{"a": 1, "x": 0}', '{"a": 1}', "failed", "$.x"),
    ("plain", '{"a": 1}', "failed", None),
    ("one  \r\n\r\ntwo\n", "one\ntwo", "passed", None),
    ("one\n  two", "one\ntwo", "failed", "2"),
    ("one", "one\ntwo", "failed", None),
])  # fmt: skip
async def test_a_draft_equals_the_reference_by_value_or_by_lines(
    draft: str, reference: str, status: str, where: str | None
) -> None:
    evidence = await evidence_of("reference", {"text": reference, "language": "json"}, draft)
    assert (evidence.status, evidence.gate, evidence.rank) == (status, False, "deterministic")
    location = evidence.findings[0].location
    assert (location.value if location else None) == where


async def test_deep_json_is_no_reason_to_fall_over() -> None:
    evidence = await evidence_of("reference", {"text": "[1]"}, "[" * 100_000)
    assert evidence.status == "failed"


async def test_the_place_of_a_finding_is_no_longer_than_can_be_shown() -> None:
    evidence = await evidence_of("reference", {"text": '{"a": 1}'}, '{"' + "k" * 900_000 + '": 1}')
    (location,) = [f.location for f in evidence.failed_findings]
    assert location is not None and str(location.value).startswith("$.k") and len(str(location.value)) == 400


async def test_an_empty_reference_is_wrong_use() -> None:
    with pytest.raises(WrongUse, match="empty"):
        await evidence_of("reference", {"text": " \n"}, "x")


async def test_json_with_a_key_twice_equals_nothing() -> None:
    evidence = await evidence_of("reference", {"text": '{"total": 12}'}, '{"total": 1, "total": 12}')
    assert evidence.status == "failed" and "the key total stands there twice" in evidence.text
    with pytest.raises(WrongUse, match="the key a stands there twice"):
        await evidence_of("reference", {"text": '{"a": 1, "a": 2}'}, "{}")
