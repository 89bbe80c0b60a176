"""The parameters of a request: what is sent, what a server refused, what it says instead."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from reflect_lab.core.chat import ChatRequest

SCHEMA_FORMAT = "response_format.json_schema"
DROPPABLE = (
    "temperature", "seed", "max_completion_tokens", "max_tokens", "stream_options", "stream", "response_format",
)  # fmt: skip
_RESPONSE_FORMAT_WORDS = ("response_format", "json_schema", "json_object")
_MENTION = {name: re.compile(rf"\b{name}\b") for name in (*DROPPABLE, *_RESPONSE_FORMAT_WORDS)}
# `stream` is an ordinary word: it counts only as a quoted name.
_MENTION["stream"] = re.compile(r"['\"`]stream['\"`]")
_OVERFLOW = re.compile(
    r"context[ _-]?(length|size|window)|maximum context|prompt is too long|too many (input )?tokens", re.IGNORECASE
)
_OVERFLOW_CODES = frozenset({"context_length_exceeded", "exceed_context_size_error"})
_LIMIT = re.compile(
    r"(?:at most|maximum(?: \w+){0,2}?(?: is| of)?|less than or equal to|up to|<=)\D{0,12}?(\d[\d,]*)", re.IGNORECASE
)
_CONTEXT = re.compile(r"context (?:length|size|window)\D{0,20}(\d[\d,]*)", re.IGNORECASE)
_PROMPT = re.compile(r"(\d[\d,]*) (?:input tokens|in the messages|in the prompt|prompt tokens)")
LEAST_OUTPUT = 64


@dataclass(frozen=True, kw_only=True)
class Params:
    """The optional parameters of one request and which wanted ones were left out.

    `dropped` names them as the ledger does; `protocol` is how a wanted schema is asked for, None where none is wanted.
    """

    values: Mapping[str, Any]
    dropped: tuple[str, ...] = ()
    protocol: Literal["schema", "json", "lines"] | None = None


def build(request: ChatRequest, refused: frozenset[str], max_tokens: int) -> Params:
    """The parameters for `request` on a server that refused `refused` before."""
    wanted: dict[str, Any] = {"stream": True, "stream_options": {"include_usage": True}, "max_tokens": max_tokens}
    if request.temperature is not None:
        wanted["temperature"] = request.temperature
    if request.seed is not None:
        wanted["seed"] = request.seed
    values = {name: value for name, value in wanted.items() if name not in refused}
    dropped = [name for name in wanted if name in refused]
    if "stream" in refused:
        values.pop("stream_options", None)
    if "max_tokens" in refused and "max_completion_tokens" not in refused:
        values["max_completion_tokens"] = max_tokens
    if request.schema is None:
        return Params(values=values, dropped=tuple(dropped))
    if "response_format" in refused:
        dropped.append("response_format")
        has_lines = request.in_lines is not None
        return Params(values=values, dropped=tuple(dropped), protocol="lines" if has_lines else "json")
    if SCHEMA_FORMAT in refused:
        dropped.append(SCHEMA_FORMAT)
        values["response_format"] = {"type": "json_object"}
        return Params(values=values, dropped=tuple(dropped), protocol="json")
    values["response_format"] = _schema_format(request.role, request.schema)
    return Params(values=values, dropped=tuple(dropped), protocol="schema")


def _schema_format(name: str, schema: Mapping[str, object]) -> dict[str, Any]:
    form = {"name": name, "schema": schema, "strict": is_strict(schema)}
    return {"type": "json_schema", "json_schema": form}


def is_strict(schema: object) -> bool:
    """Whether a JSON Schema fits what OpenAI calls strict: closed objects with every property required."""
    if isinstance(schema, list):
        return all(is_strict(part) for part in schema)
    if not isinstance(schema, Mapping):
        return True
    if isinstance(properties := schema.get("properties"), Mapping):
        required = schema.get("required")
        if schema.get("additionalProperties") is not False or not isinstance(required, list | tuple):
            return False
        if set(required) != set(properties):
            return False
        return all(is_strict(part) for part in properties.values())
    return all(is_strict(part) for part in schema.values())


@dataclass(frozen=True, kw_only=True)
class Complaint:
    """What a 400 or 422 is about. At most one of the three is set."""

    refused: str | None = None
    """The name to add to the refused ones."""
    max_tokens: int | None = None
    """The most output tokens that the server says it allows."""
    is_overflow: bool = False


def read_complaint(body: object, message: str, sent: Mapping[str, Any]) -> Complaint:
    """What the server did not like about a request that held the parameters `sent`."""
    limit = sent.get("max_tokens", sent.get("max_completion_tokens"))
    if _is_overflow(body, message):
        room = _context_room(message)
        if isinstance(limit, int) and room is not None and LEAST_OUTPUT <= room < limit:
            return Complaint(max_tokens=room)
        return Complaint(is_overflow=True)
    name = _named(body, message, sent)
    if name in ("max_tokens", "max_completion_tokens") and isinstance(limit, int):
        allowed = [n for n in map(_number, _LIMIT.findall(message)) if 1 <= n < limit]
        if allowed:
            return Complaint(max_tokens=max(allowed))
    if name == "response_format":
        form = sent["response_format"]
        return Complaint(refused=SCHEMA_FORMAT if form.get("type") == "json_schema" else "response_format")
    return Complaint(refused=name)


def _is_overflow(body: object, message: str) -> bool:
    codes = {str(body.get(key)) for key in ("code", "type")} if isinstance(body, Mapping) else set()
    return bool(codes & _OVERFLOW_CODES) or bool(_OVERFLOW.search(message))


def _context_room(message: str) -> int | None:
    """Output tokens that fit beside the prompt, where the message names both numbers."""
    context, prompt = _CONTEXT.search(message), _PROMPT.search(message)
    return _number(context[1]) - _number(prompt[1]) if context and prompt else None


def _number(text: str) -> int:
    return int(text.replace(",", ""))


def _named(body: object, message: str, sent: Mapping[str, Any]) -> str | None:
    """The sent parameter that the answer names: in its fields where it has them, else in its words."""
    for field in _fields(body):
        for name in DROPPABLE:
            if name in sent and (field == name or field.startswith(f"{name}.")):
                return name
    for name in DROPPABLE:
        if name in sent and _MENTION[name].search(message):
            return name
    if "response_format" in sent and any(_MENTION[word].search(message) for word in _RESPONSE_FORMAT_WORDS):
        return "response_format"
    return None


def _fields(body: object) -> list[str]:
    """`param` of OpenAI's error shape, and the last names of each `loc` of FastAPI's."""
    if not isinstance(body, Mapping):
        return []
    fields = [body["param"]] if isinstance(body.get("param"), str) else []
    detail = body.get("detail")
    for item in detail if isinstance(detail, list) else []:
        loc = item.get("loc") if isinstance(item, Mapping) else None
        fields += [str(part) for part in loc if part != "body"][:1] if isinstance(loc, list) else []
    return fields
