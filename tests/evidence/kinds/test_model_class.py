"""The `pydantic` check: a gate by a model class of the user's."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from pydantic import BaseModel, Field, field_validator

from reflect_lab.core.errors import WrongUse
from reflect_lab.core.evidence import Evidence
from reflect_lab.core.task import CheckSpec, Task
from reflect_lab.evidence.gather import Checks
from reflect_lab.evidence.named import CheckRegistry
from tests.evidence.evidence_support import Remember, run_with

WAIT_S = 20.0


class Item(BaseModel):
    name: str
    count: int = Field(ge=1)


class Order(BaseModel):
    items: list[Item]
    note: str | None = None


async def judged(model: type[BaseModel], draft: str, **options: Any) -> Evidence:
    registry = CheckRegistry({model.__name__: model})
    spec = CheckSpec(name="order", kind="custom", options={"kind": "pydantic", "model": model.__name__, **options})
    resolved = registry.resolve(Task(text="Write.", checks=(spec,)))
    assert resolved.task.language == "json" and resolved.task.checks[0].gate
    checks = Checks(resolved.task, kinds=resolved.kinds, named=resolved.named, objects=resolved.objects)
    (found,) = await checks.gather(run_with(resolved.task, draft), Remember())
    return found


async def test_a_draft_that_the_class_takes_passes_the_gate_and_says_whose_word_it_is() -> None:
    found = await judged(Order, '{"items": [{"name": "a", "count": "2"}]}')
    assert (found.status, found.gate, found.kind, found.rank) == ("passed", True, "pydantic", "deterministic")
    assert found.provenance["trust"].startswith("trusted") and found.provenance["model"].endswith(".Order")


async def test_each_problem_is_a_finding_with_its_path() -> None:
    found = await judged(Order, '{"items": [{"count": 0}, {"name": 1, "count": 2}]}')
    assert [(f.id, f.location.value if f.location else None) for f in found.findings] == [
        ("$.items[0].name:missing", "$.items[0].name"),
        ("$.items[0].count:greater_than_equal", "$.items[0].count"),
        ("$.items[1].name:string_type", "$.items[1].name"),
    ]
    again = await judged(Order, '{"items": [{"count": 0}, {"name": 1, "count": 2}]}')
    assert (again.text, again.findings) == (found.text, found.findings)


async def test_nothing_is_coerced_where_strict_says_so() -> None:
    draft = '{"items": [{"name": "a", "count": "2"}]}'
    assert (await judged(Order, draft, strict=True)).status == "failed"


async def test_what_is_no_json_fails_and_a_slip_of_its_form_is_mended() -> None:
    found = await judged(Order, "not JSON")
    assert (found.findings[0].id, found.fix) == ("parse", None)
    found = await judged(Order, '```json\n{"items": [],}\n```')
    assert (found.status, found.fix) == ("failed", '{"items": []}')
    assert (await judged(Order, '{"items": [3],}')).fix is None, "it is not mended where it still fails"


async def test_a_key_that_stands_twice_has_two_readings_and_fails() -> None:
    class Note(BaseModel):
        to: str
        more: dict[str, int] = {}

    found = await judged(Note, '{"to": "a", "more": {"b": 1, "b": 2}}')
    assert [(f.id, f.message) for f in found.findings] == [("$.more.b:twice", "$.more.b: the key stands there twice")]
    assert found.status == "failed" and (await judged(Note, '{"to": "a", "more": {"b": 1}}')).status == "passed"


async def test_a_fault_of_a_validator_is_an_error_and_a_hung_one_too() -> None:
    let_go = threading.Event()

    class Faulty(BaseModel):
        name: str

        @field_validator("name")
        @classmethod
        def look(cls, value: str) -> str:
            if value == "wait":
                let_go.wait(WAIT_S)
            raise RuntimeError("boom") if value != "bad" else ValueError("a bad name")

    assert (await judged(Faulty, '{"name": "bad"}')).findings[0].message == "$.name: Value error, a bad name"
    assert "RuntimeError: boom" in (await judged(Faulty, '{"name": "x"}')).text
    found = await judged(Faulty, '{"name": "wait"}', timeout_s=0.05)
    assert found.status == "error" and "no answer within 0.05 s" in found.text
    let_go.set()


def test_a_name_that_is_no_model_class_is_wrong_use() -> None:
    registry = CheckRegistry({"Order": Order, "order": 3})
    for name, message in (("Oder", "did you mean 'Order'"), ("order", "there is no model class 'order'")):
        spec = CheckSpec(name="a", kind="custom", options={"kind": "pydantic", "model": name})
        with pytest.raises(WrongUse, match=message):
            registry.resolve(Task(text="x", checks=(spec,)))
    with pytest.raises(WrongUse, match="model must be the name of a model class"):
        registry.resolve(Task(text="x", checks=(CheckSpec(name="pydantic", kind="custom"),)))


class Total(BaseModel):
    total: float


@pytest.mark.parametrize(("draft", "why"), [
    ('{"total": 1e999}', "the number 1e999 is too large"),
    ('{"total": NaN}', "NaN is no JSON number"),
])  # fmt: skip
async def test_a_number_without_a_finite_value_is_refused_before_the_class_is_asked(draft: str, why: str) -> None:
    found = await judged(Total, draft)
    assert (found.status, [f.id for f in found.findings]) == ("failed", ["parse"])
    assert why in found.findings[0].message
