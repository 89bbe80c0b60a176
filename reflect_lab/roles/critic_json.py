"""A critic's JSON: the schema that a server is asked to enforce, and the answer read strictly; nothing is coerced."""

from __future__ import annotations

import json
from typing import Any

from reflect_lab.core.critique import SEVERITIES, RaisedIssue
from reflect_lab.documents.suggest import shown
from reflect_lab.roles.critic_answer import CriticAnswer, Unreadable
from reflect_lab.roles.extraction import strip_outer_fence

_TEXT = {"type": "string"}
_TEXT_OR_NULL = {"type": ["string", "null"]}

SCHEMA: dict[str, object] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["issues", "score", "requirements_checked"],
    "properties": {
        "issues": {
            "type": "array",
            "maxItems": 20,
            "items": {
                "type": "object",
                "additionalProperties": False,
                "required": ["id", "severity", "requirement", "location", "evidence", "suggestion"],
                "properties": {
                    "id": _TEXT,
                    "severity": {"type": "string", "enum": list(SEVERITIES)},
                    "requirement": _TEXT_OR_NULL,
                    "location": _TEXT_OR_NULL,
                    "evidence": _TEXT,
                    "suggestion": _TEXT,
                },
            },
        },
        "score": {"type": ["number", "null"], "minimum": 0, "maximum": 1},
        "requirements_checked": {"type": "array", "items": _TEXT},
    },
}
"""The JSON Schema that a server is asked to enforce."""


def read_json(answer: str) -> CriticAnswer:
    """One JSON object, within one outer code fence at most. Raises Unreadable for anything else."""
    try:
        found = json.loads(strip_outer_fence(answer), parse_constant=_no_constant, object_pairs_hook=_unique)
    except (ValueError, RecursionError) as error:
        where = f" (line {error.lineno})" if isinstance(error, json.JSONDecodeError) else ""
        raise Unreadable(f"the answer is not one JSON object{where}") from None
    if not isinstance(found, dict):
        raise Unreadable(f"the answer is {_kind(found)}, not an object")
    if not isinstance(found.get("issues"), list):
        raise Unreadable("`issues` is missing or no list")
    checked = found.get("requirements_checked")
    checked = [] if checked is None else checked
    if not isinstance(checked, list) or not all(isinstance(r, str) for r in checked):
        raise Unreadable("`requirements_checked` is no list of ids")
    return CriticAnswer(
        issues=tuple(_issue(number, one) for number, one in enumerate(found["issues"], 1)),
        score=_score(found.get("score")),
        requirements_checked=tuple(checked),
    )


def _issue(number: int, one: Any) -> RaisedIssue:
    if not isinstance(one, dict):
        raise Unreadable(f"issue {number} is {_kind(one)}, not an object")
    if not isinstance(one.get("id"), str):
        raise Unreadable(f"issue {number} has no `id`, or one that is no string")
    if one.get("severity") not in SEVERITIES:
        said = shown(one.get("severity"))
        raise Unreadable(f"issue {number} has the severity {said}; it is one of {', '.join(SEVERITIES)}")
    return RaisedIssue(
        id=one["id"],
        severity=one["severity"],
        evidence=_text(number, one, "evidence") or "",
        suggestion=_text(number, one, "suggestion") or "",
        location=_text(number, one, "location"),
        requirement=_text(number, one, "requirement"),
    )


def _text(number: int, one: dict[str, Any], name: str) -> str | None:
    value = one.get(name)
    if value is not None and not isinstance(value, str):
        raise Unreadable(f"issue {number} has a `{name}` that is {_kind(value)}, not a string")
    return value


def _score(score: Any) -> float | None:
    if score is None:
        return None
    if isinstance(score, bool) or not isinstance(score, int | float):
        raise Unreadable(f"`score` is {_kind(score)}, not a number")
    if not 0 <= score <= 1:
        raise Unreadable(f"`score` is {shown(score)}, not in 0..1")
    return float(score)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object whose names stand once: of a list of issues and an empty one, neither may be taken for the answer."""
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise Unreadable(f"the name {shown(name)} stands twice in one object")
        found[name] = value
    return found


def _no_constant(name: str) -> None:
    raise Unreadable(f"{name} is not a JSON number")


def _kind(value: object) -> str:
    return {dict: "an object", list: "a list", str: "a string", bool: "true or false", type(None): "null"}.get(
        type(value), "a number"
    )
