"""The form in which a critic is asked to answer: part of its instructions, another one for each protocol."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files

from reflect_lab.core.critique import Protocol

_OWN_FORM = "Answer with one JSON object"
"""How the paragraph of a prompt begins that describes its JSON."""
_JSON_NAME = re.compile(r"""[`"']issues[`"']""")


def instructions(prompt: str, protocol: Protocol) -> str:
    """A critic's prompt with the form of the answer.

    A prompt that describes its JSON keeps it where JSON is asked for, and loses that paragraph where it is not; one
    that names no `issues` gets the form of the shipped critic.
    """
    if protocol in ("schema", "json"):
        return prompt if _JSON_NAME.search(prompt) else f"{prompt.rstrip()}\n\n{form(protocol)}"
    kept = [part for part in prompt.rstrip().split("\n\n") if not part.startswith(_OWN_FORM)]
    return "\n\n".join([*kept, form(protocol)])


@cache
def form(protocol: Protocol) -> str:
    """How to answer, in words for the model."""
    prompts = files("reflect_lab.roles") / "prompts"
    if protocol in ("lines", "text"):
        return (prompts / "form" / f"{protocol}.md").read_text(encoding="utf-8").strip()
    shipped = (prompts / "critic" / "grounded.md").read_text(encoding="utf-8")
    return next(part for part in shipped.split("\n\n") if part.startswith(_OWN_FORM))
