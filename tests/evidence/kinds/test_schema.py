"""The JSON schema gate."""

from __future__ import annotations

import pytest

from reflect_lab.core.errors import WrongUse
from tests.evidence.evidence_support import evidence_of

ORDER = {
    "type": "object",
    "required": ["total", "currency"],
    "properties": {
        "total": {"type": "number"},
        "currency": {"enum": ["INR", "EUR"]},
        "items": {"type": "array", "items": {"type": "object", "required": ["sku"]}},
    },
}


@pytest.mark.parametrize(("draft", "ids"), [
    ('{"total": 12, "currency": "INR"}', []),
    ('{"currency": "INR"}', ["$:required:total"]),
    ('{"currency": "EUR"}', ["$:required:total"]),
    ("{}", ["$:required:total", "$:required:currency"]),
    ('{"total": "twelve", "currency": "INR"}', ["$.total:type"]),
    ('{"total": 1, "currency": "INR", "items": [{"sku": 1}, {}]}', ["$.items[1]:required:sku"]),
    ('{"total": 1, "total": 2, "currency": "INR"}', ["$.total:twice"]),
    ('{"total": 1, "currency": "INR", "items": [{"sku": 1, "sku": 1}]}', ["$.items[0].sku:twice"]),
    ("not json", ["parse"]),
    ("def f(:", ["parse"]),
    ("NaN", ["parse"]),
    ("[" * 100_000, ["parse"]),
])  # fmt: skip
async def test_findings_are_named_by_path_and_rule(draft: str, ids: list[str]) -> None:
    evidence = await evidence_of("json_schema", {"schema": ORDER}, draft)
    assert evidence.status == ("failed" if ids else "passed")
    assert [f.id for f in evidence.findings] == ids
    assert all(f.message in evidence.text for f in evidence.findings)


@pytest.mark.parametrize(("draft", "is_one"), [
    ('{"total": 1,}', True), ("[1, 2,\n]", True), ("[1, , 2]", False), ("[1, 2", False),
    ("[1,", False), ('{"a": }', False),
])  # fmt: skip
async def test_a_trailing_comma_is_told_as_one(draft: str, is_one: bool) -> None:
    (finding,) = (await evidence_of("json_schema", {"schema": ORDER}, draft)).findings
    assert (finding.message == "not JSON: a trailing comma") == is_one, finding.message


async def test_a_draft_that_does_not_parse_names_the_line() -> None:
    evidence = await evidence_of("json_schema", {"schema": ORDER}, '{\n"total": 1,\n}')
    location = evidence.findings[0].location
    assert location is not None and (location.kind, location.value) == ("line", "3")


@pytest.mark.parametrize(("schema", "message"), [
    ({"type": "objct"}, "not valid"),
    ({"$ref": "https://example.org/other.json"}, "nothing is fetched"),
    ("{broken", "not JSON"),
    (3, "must be an object"),
])  # fmt: skip
async def test_a_bad_schema_is_wrong_use(schema: object, message: str) -> None:
    with pytest.raises(WrongUse, match=message):
        await evidence_of("json_schema", {"schema": schema}, "{}")


async def test_a_reference_within_the_schema_is_followed() -> None:
    schema = {"$defs": {"n": {"type": "integer"}}, "$ref": "#/$defs/n"}
    assert (await evidence_of("json_schema", {"schema": schema}, "3")).status == "passed"
    assert (await evidence_of("json_schema", {"schema": schema}, '"3"')).status == "failed"


async def test_a_reference_to_nowhere_is_an_error_and_no_verdict() -> None:
    evidence = await evidence_of("json_schema", {"schema": {"$ref": "other.json"}}, "3")
    assert (evidence.status, evidence.executions) == ("error", 2)


@pytest.mark.parametrize("draft", [
    "[" + ",".join(['"x"'] * 20_000) + "]",
    '{"' + "k" * 1_100_000 + '": "x"}',
])  # fmt: skip
async def test_a_flood_of_problems_is_a_failure_and_no_error(draft: str) -> None:
    schema = {"items": {"type": "integer"}, "additionalProperties": {"type": "integer"}}
    evidence = await evidence_of("json_schema", {"schema": schema}, draft)
    assert evidence.status == "failed" and 0 < len(evidence.findings) <= 50


@pytest.mark.parametrize("rule", [{"type": "number"}, {"multipleOf": 5}])
async def test_a_number_without_a_finite_value_is_refused(rule: dict[str, object]) -> None:
    evidence = await evidence_of("json_schema", {"schema": {"properties": {"total": rule}}}, '{"total": 1e999}')
    assert evidence.status == "failed" and "the number 1e999 is too large" in evidence.text
