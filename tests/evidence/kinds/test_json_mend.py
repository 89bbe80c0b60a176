"""JSON with a slip that has one reading is mended; what it says is never touched."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reflect_lab.evidence.kinds.json_mend import mended
from tests.evidence.evidence_support import evidence_of

SCHEMA = {"type": "object", "required": ["total"], "properties": {"total": {"type": "number"}}}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"total": 1,}', '{"total": 1}'),
        ('{"a": [1, 2, ],\n}', '{"a": [1, 2 ]\n}'),
        ('```json\n{"total": 1}\n```', '{"total": 1}'),
        ('\ufeff{"total": 1}', '{"total": 1}'),
        ('{"said": "a, ]", "b": "\\",}",}', '{"said": "a, ]", "b": "\\",}"}'),
        ('{"total": 1}', None),
        ("{'total': 1}", None),
        ('{"total": 1', None),
        ('{"total": 1,,}', None),
        ("[,]", "[]"),
        ("", None),
        ('Here: {"total": 1,}', None),
        ("[" * 100_000 + ",", None),
    ],
)
def test_what_is_mended(text: str, expected: str | None) -> None:
    assert mended(text) == expected


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, min_size=1, max_size=3) | st.dictionaries(st.text(max_size=3), inner, min_size=1),
    max_leaves=10,
).filter(lambda value: isinstance(value, list | dict) and bool(value))


@settings(max_examples=200, deadline=None)
@given(VALUES, st.sampled_from([",", " , ", ",\n"]))
def test_a_trailing_comma_is_all_that_goes(value: list[object] | dict[str, object], comma: str) -> None:
    text = json.dumps(value, ensure_ascii=False)
    found = mended(text[:-1] + comma + text[-1])
    assert found is not None and json.loads(found) == value


def test_hostile_text_takes_no_time() -> None:
    started = time.monotonic()
    assert mended('{"a": "' + '\\"' * 490_000) is None
    assert mended("[" + ", " * 490_000) is None
    assert mended("```\n" * 250_000) is None
    assert time.monotonic() - started < 20


async def test_the_schema_check_offers_a_fix_that_fits_the_schema() -> None:
    evidence = await evidence_of("json_schema", {"schema": SCHEMA}, '{"total": 1,}')
    assert (evidence.status, evidence.fix) == ("failed", '{"total": 1}')
    assert [f.id for f in evidence.findings] == ["parse"]


@pytest.mark.parametrize("draft", ['{"sum": 1,}', '{"sum": 1}', "no json", '{"total": NaN,}', '{"total": 1}'])
async def test_the_schema_check_offers_no_fix_that_would_not_pass(draft: str) -> None:
    assert (await evidence_of("json_schema", {"schema": SCHEMA}, draft)).fix is None
