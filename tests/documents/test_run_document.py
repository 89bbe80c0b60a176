"""Run documents: they round-trip, say what they are, and fit the published JSON Schema.

`python -m tests.documents.test_run_document` writes the published schema anew after a change of the dataclasses.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from jsonschema import Draft202012Validator

import reflect_lab.documents
from reflect_lab.core.errors import WrongUse
from reflect_lab.core.policy import Policy
from reflect_lab.core.run import Draft, Round, Run, Usage
from reflect_lab.core.task import Task
from reflect_lab.documents.run_document import dump_run, load_run, run_schema
from tests.documents.run_strategies import runs

PUBLISHED = Path(reflect_lab.documents.__file__).with_name("run.schema.json")
FIXTURES = sorted((Path(__file__).parent.parent / "fixtures" / "runs").glob("*.json"))


def schema_text() -> str:
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
    return json.dumps({**head, **run_schema()}, indent=1, sort_keys=True) + "\n"


def small() -> Run:
    return Run(
        run_id="01A",
        task=Task(text="Write."),
        policy=Policy(),
        rounds=(Round(index=0, draft=Draft(index=0, text="x")),),
    )


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(runs())
def test_any_run_survives_the_way_through_json(run: Run) -> None:
    document = json.loads(json.dumps(dump_run(run), allow_nan=False))
    assert load_run(document) == run


def test_unknown_none_and_empty_stay_apart() -> None:
    usage = Usage(calls=1, input_tokens=None, output_tokens=0)
    first = Round(index=0, draft=Draft(index=0, text="x"), evidence=None, usage=usage)
    run = replace(small(), rounds=(first, replace(first, evidence=())), not_recorded=("/rounds/0/evidence",))
    document = dump_run(run)
    assert document["rounds"][0]["evidence"] is None
    assert document["rounds"][1]["evidence"] == []
    assert (document["rounds"][0]["usage"]["input_tokens"], document["rounds"][0]["usage"]["output_tokens"]) == (
        None,
        0,
    )
    assert load_run(document) == run


@pytest.mark.parametrize("schema", ["reflect-lab/run/2", "", None, 1])
def test_a_document_of_another_schema_is_refused(schema: object) -> None:
    with pytest.raises(WrongUse, match="not a run document: schema is"):
        load_run({**dump_run(small()), "schema": schema})


def damaged(path: list[Any], value: object) -> dict[str, Any]:
    document = dump_run(small())
    part: Any = document
    for key in path[:-1]:
        part = part[key]
    part[path[-1]] = value
    return document


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (["rounds", 0, "draft", "text"], None),
        (["rounds", 0, "draft", "mode"], "guess"),
        (["task", "requirements"], "R1"),
        (["usage", "calls"], "many"),
        (["outcome"], []),
    ],
)
def test_a_damaged_document_is_one_line_that_names_the_part(path: list[Any], value: object) -> None:
    with pytest.raises(WrongUse, match=f"^not a valid run document: /{path[0]}") as caught:
        load_run(damaged(path, value))
    assert "\n" not in str(caught.value)


def test_the_published_schema_is_up_to_date() -> None:
    assert PUBLISHED.read_text("utf-8") == schema_text(), "run `python -m tests.documents.test_run_document`"


@pytest.mark.parametrize("path", FIXTURES, ids=lambda path: path.stem)
def test_every_stored_run_fits_the_published_schema_and_is_what_it_was(path: Path) -> None:
    document = json.loads(path.read_text("utf-8"))
    Draft202012Validator(json.loads(PUBLISHED.read_text("utf-8"))).validate(document)
    assert dump_run(load_run(document)) == document


def test_the_published_schema_refuses_a_document_without_its_drafts() -> None:
    schema = json.loads(PUBLISHED.read_text("utf-8"))
    Draft202012Validator.check_schema(schema)
    assert list(Draft202012Validator(schema).iter_errors(damaged(["rounds", 0, "draft"], None)))


if __name__ == "__main__":
    PUBLISHED.write_text(schema_text(), "utf-8")
