"""A critic's answer, read strictly: anything but the agreed form is not valid, and never "no issues" (DESIGN 4.5)."""

from __future__ import annotations

import json
from typing import Any

from reflect_lab.core.chat import ChatReply
from reflect_lab.core.critique import SEVERITIES, CriticReply, RaisedIssue, Validity
from reflect_lab.documents.suggest import shown
from reflect_lab.documents.visible import visible_line
from reflect_lab.roles.extraction import split_reasoning, strip_outer_fence

MAX_PROBLEM = 300
"""Characters that say why an answer is not valid: they may be the model's own, and stand in the decision."""

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
        "score": {"type": "number", "minimum": 0, "maximum": 1},
        "requirements_checked": {"type": "array", "items": _TEXT},
    },
}
"""The JSON Schema that a server is asked to enforce."""


class _Unreadable(Exception):
    """Why an answer is not in the agreed form."""


def read_reply(reply: ChatReply) -> CriticReply:
    """The critic's answer. How it ended is looked at before its text."""
    if reply.refusal is not None or reply.finish_reason == "content_filter":
        return _not_valid(reply, "refused", reply.refusal or "the provider's filter held the answer back")
    answer, _, is_cut = split_reasoning(reply.text)
    if reply.truncated or reply.finish_reason == "length" or is_cut:
        return _not_valid(reply, "truncated", "the answer was cut off")
    if not answer.strip():
        return _not_valid(reply, "invalid", "the answer is empty")
    try:
        found = json.loads(strip_outer_fence(answer), parse_constant=_no_constant, object_pairs_hook=_unique)
        return _parsed(reply, found)
    except _Unreadable as error:
        return _not_valid(reply, "invalid", str(error))
    except (ValueError, RecursionError) as error:
        where = f" (line {error.lineno})" if isinstance(error, json.JSONDecodeError) else ""
        return _not_valid(reply, "invalid", f"the answer is not one JSON object{where}")


def _parsed(reply: ChatReply, answer: Any) -> CriticReply:
    if not isinstance(answer, dict):
        raise _Unreadable(f"the answer is {_kind(answer)}, not an object")
    if not isinstance(answer.get("issues"), list):
        raise _Unreadable("`issues` is missing or no list")
    checked = answer.get("requirements_checked")
    checked = [] if checked is None else checked
    if not isinstance(checked, list) or not all(isinstance(r, str) for r in checked):
        raise _Unreadable("`requirements_checked` is no list of ids")
    return CriticReply(
        validity="ok",
        issues=tuple(_issue(number, one) for number, one in enumerate(answer["issues"], 1)),
        score=_score(answer.get("score")),
        requirements_checked=tuple(checked),
        text=reply.text,
        protocol=reply.protocol,
    )


def _issue(number: int, one: Any) -> RaisedIssue:
    if not isinstance(one, dict):
        raise _Unreadable(f"issue {number} is {_kind(one)}, not an object")
    if not isinstance(one.get("id"), str):
        raise _Unreadable(f"issue {number} has no `id`, or one that is no string")
    if one.get("severity") not in SEVERITIES:
        said = shown(one.get("severity"))
        raise _Unreadable(f"issue {number} has the severity {said}; it is one of {', '.join(SEVERITIES)}")
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
        raise _Unreadable(f"issue {number} has a `{name}` that is {_kind(value)}, not a string")
    return value


def _score(score: Any) -> float | None:
    if score is None:
        return None
    if isinstance(score, bool) or not isinstance(score, int | float):
        raise _Unreadable(f"`score` is {_kind(score)}, not a number")
    if not 0 <= score <= 1:
        raise _Unreadable(f"`score` is {shown(score)}, not in 0..1")
    return float(score)


def _not_valid(reply: ChatReply, validity: Validity, problem: str) -> CriticReply:
    line = visible_line(problem, MAX_PROBLEM)
    return CriticReply(validity=validity, problem=line, text=reply.text, protocol=reply.protocol)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object whose names stand once: of a list of issues and an empty one, neither may be taken for the answer."""
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise _Unreadable(f"the name {shown(name)} stands twice in one object")
        found[name] = value
    return found


def _no_constant(name: str) -> None:
    raise _Unreadable(f"{name} is not a JSON number")


def _kind(value: object) -> str:
    return {dict: "an object", list: "a list", str: "a string", bool: "true or false", type(None): "null"}.get(
        type(value), "a number"
    )
