"""The run document: a run as JSON, and back. The core's dataclasses are the one definition of its shape."""

from __future__ import annotations

from functools import cache
from typing import Any

from pydantic import TypeAdapter, ValidationError

from reflect_lab.core.errors import WrongUse
from reflect_lab.core.events import Event
from reflect_lab.core.run import SCHEMA, Run


@cache
def run_adapter() -> TypeAdapter[Run]:
    return TypeAdapter(Run)


def dump_run(run: Run) -> dict[str, Any]:
    """The run as plain JSON values; the keys are the dataclasses' field names, `schema` first."""
    document: dict[str, Any] = run_adapter().dump_python(run, mode="json")
    return {"schema": document.pop("schema"), **document}


def load_run(document: dict[str, Any]) -> Run:
    """A run from its document. Raises WrongUse when the document is of another schema or shape."""
    if document.get("schema") != SCHEMA:
        raise WrongUse(f"not a run document: schema is {document.get('schema')!r}, expected {SCHEMA!r}")
    try:
        return run_adapter().validate_python(document)
    except ValidationError as error:
        first = error.errors()[0]
        where = "/".join(str(part) for part in first["loc"])
        raise WrongUse(f"not a valid run document: /{where}: {first['msg']}") from None


def run_schema() -> dict[str, Any]:
    """The published JSON Schema of the run document (serialisation mode: every field is there)."""
    return run_adapter().json_schema(mode="serialization")


@cache
def _event_adapters() -> dict[str, TypeAdapter[Any]]:
    return {kind.__name__: TypeAdapter(kind) for kind in Event.__args__}


def dump_event(event: Event) -> dict[str, Any]:
    """An event as plain JSON values with its type's name under `type`."""
    name = type(event).__name__
    return {"type": name, **_event_adapters()[name].dump_python(event, mode="json")}


def load_event(document: dict[str, Any]) -> Event:
    """An event from `dump_event`. Raises WrongUse on an unknown type or shape."""
    fields = {key: value for key, value in document.items() if key != "type"}
    adapter = _event_adapters().get(document.get("type", ""))
    if adapter is None:
        raise WrongUse(f"not an event: type is {document.get('type')!r}")
    try:
        event: Event = adapter.validate_python(fields)
    except ValidationError as error:
        raise WrongUse(f"not a valid {document['type']} event: {error.errors()[0]['msg']}") from None
    return event
