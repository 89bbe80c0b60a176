"""A critic's answer, read strictly: anything but the agreed form is not valid, and never "no issues" (DESIGN 4.5)."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from reflect_lab.core.chat import ChatReply
from reflect_lab.core.critique import CriticReply, Protocol, Validity
from reflect_lab.documents.visible import visible_line
from reflect_lab.roles.critic_answer import CriticAnswer, Unreadable
from reflect_lab.roles.critic_json import read_json
from reflect_lab.roles.critic_lines import read_lines
from reflect_lab.roles.critic_text import MAX_CRITIQUE, read_text
from reflect_lab.roles.extraction import split_reasoning

MAX_PROBLEM = 300
"""Characters that say why an answer is not valid: they may be the model's own, and stand in the decision."""

_READERS: Mapping[Protocol, Callable[[str], CriticAnswer]] = {
    "schema": read_json,
    "json": read_json,
    "lines": read_lines,
    "text": read_text,
}


def read_reply(reply: ChatReply, *, is_prose: bool = False) -> CriticReply:
    """The critic's answer, by the protocol that it was asked for in. How it ended is looked at before its text; of an
    answer in prose, the reply's `text` is what was said without the reasoning."""
    protocol: Protocol = "text" if is_prose else reply.protocol
    if reply.refusal is not None or reply.finish_reason == "content_filter":
        return _not_valid(reply, protocol, "refused", reply.refusal or "the provider's filter held the answer back")
    answer, _, is_cut = split_reasoning(reply.text)
    if reply.truncated or reply.finish_reason == "length" or is_cut:
        return _not_valid(reply, protocol, "truncated", "the answer was cut off")
    if not answer.strip():
        return _not_valid(reply, protocol, "invalid", "the answer is empty")
    try:
        read = _READERS[protocol](answer)
    except Unreadable as error:
        return _not_valid(reply, protocol, "invalid", str(error))
    return CriticReply(
        validity="ok",
        issues=read.issues,
        score=read.score,
        requirements_checked=read.requirements_checked,
        text=answer.strip()[:MAX_CRITIQUE] if is_prose else reply.text,
        protocol=protocol,
    )


def _not_valid(reply: ChatReply, protocol: Protocol, validity: Validity, problem: str) -> CriticReply:
    line = visible_line(problem, MAX_PROBLEM)
    return CriticReply(validity=validity, problem=line, text=reply.text, protocol=protocol)
