"""The line protocol, for servers that enforce no form: `PROBLEM:` lines or the agreed sentence, read strictly."""

from __future__ import annotations

from reflect_lab.core.critique import RaisedIssue
from reflect_lab.roles.critic_answer import NOTHING_FOUND, CriticAnswer, Unreadable

PROBLEM = "PROBLEM:"


def read_lines(answer: str) -> CriticAnswer:
    """Blocking issues `p1`, `p2`, … of `PROBLEM:` lines, or none where the answer is the agreed sentence, which praise
    may follow on its line. There is no score. Raises Unreadable for anything else: a bullet, bold type, other case."""
    lines = [line.rstrip() for line in answer.strip().split("\n") if line.strip()]
    if len(lines) == 1 and _finds_nothing(lines[0]):
        return CriticAnswer()
    return CriticAnswer(issues=tuple(_issue(number, line) for number, line in enumerate(lines, 1)))


def _finds_nothing(line: str) -> bool:
    return line == NOTHING_FOUND or (line.startswith(f"{NOTHING_FOUND} ") and PROBLEM not in line)


def _issue(number: int, line: str) -> RaisedIssue:
    if not line.startswith(PROBLEM):
        raise Unreadable(f"line {number} is neither a `{PROBLEM}` line nor the sentence `{NOTHING_FOUND}` alone")
    evidence = line.removeprefix(PROBLEM).strip()
    if not evidence:
        raise Unreadable(f"line {number} names no problem")
    return RaisedIssue(id=f"p{number}", severity="blocking", evidence=evidence)
