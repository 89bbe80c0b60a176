"""Prompts do not grow with the number of rounds (DESIGN 4.2): revision 20 costs what the first one did."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from reflect_lab.core.chat import ChatRequest
from reflect_lab.core.observer import Observer
from reflect_lab.core.policy import Limits, Policy, Rules
from reflect_lab.core.run import Run
from reflect_lab.loop import run_loop
from tests.test_loop import TOKENS, empty_run, roles

ROUNDS = 21


class Sizes(Observer):
    """The sizes of all prompts, by role and round, in characters."""

    def __init__(self) -> None:
        self.of: dict[str, dict[int, int]] = defaultdict(dict)

    @contextmanager
    def around_call(self, run: Run, request: ChatRequest, model: str) -> Iterator[None]:
        self.of[request.role][request.round] = sum(len(m.content) for m in request.messages)
        yield


def draft(number: int) -> str:
    return f"Draft {number:02}\n" + "The repair takes a while.\n" * 20 + "End."


@pytest.mark.parametrize("mode", ["patch", "rewrite"])
async def test_prompts_have_the_same_size_in_round_1_and_in_round_20(mode: str, tmp_path: Path) -> None:
    lines = []
    for number in range(ROUNDS):
        block = f"<<<<<<< SEARCH\nDraft {number - 1:02}\n=======\nDraft {number:02}\n>>>>>>> REPLACE"
        text = block if number and mode == "patch" else draft(number)
        issue = {"id": "a", "severity": "blocking", "requirement": "R1", "evidence": "", "location": "End."}
        score = (number + 1) / (ROUNDS + 1)
        lines.append({"role": "generator", "text": text, "usage": TOKENS})
        lines.append({"role": "critic", "json": {"issues": [issue], "score": score}, "usage": TOKENS})
    limits = Limits(revisions=20, model_calls=None, total_tokens=None)
    rules = Rules(repeat_limit=99, min_gain=0.0, revision="patch" if mode == "patch" else "rewrite")
    sizes = Sizes()
    run = await run_loop(
        replace(empty_run(), policy=Policy(limits=limits, rules=rules)), roles(tmp_path, lines), [sizes]
    )
    assert run.outcome and run.outcome.budget_dimension == "revisions"
    assert [r.draft.mode for r in run.rounds[1:]] == [mode] * 20
    assert len(set(sizes.of["critic"].values())) == 1 and len(sizes.of["critic"]) == ROUNDS
    revisions = [size for number, size in sizes.of["generator"].items() if number]
    assert len(revisions) == 20 and len(set(revisions)) == 1
