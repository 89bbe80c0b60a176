"""Patches in the loop: one that does not apply is asked for once more, as a rewrite, and nothing paid for is lost."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from reflect_lab.core.chat import ChatRequest
from reflect_lab.core.observer import Observer
from reflect_lab.core.policy import Policy, Rules
from reflect_lab.core.run import Run
from reflect_lab.loop import run_loop
from tests.test_loop import CLEAN, REVISED, TOKENS, empty_run, roles

DRAFT = "Dear all,\nthe repair is soon.\nYours"
LOCATED = {
    "issues": [
        {"id": "a", "severity": "blocking", "requirement": "R1", "evidence": "", "location": "the repair is soon."}
    ],
    "score": 0.4,
}
BLOCK = "<<<<<<< SEARCH\nthe repair is soon.\n=======\nthe repair is on Monday.\n>>>>>>> REPLACE"
LOST = BLOCK.replace("is soon", "is late")


def generator(text: str, **more: Any) -> dict[str, Any]:
    return {"role": "generator", "text": text, "usage": TOKENS, **more}


def critic(answer: object, **more: Any) -> dict[str, Any]:
    return {"role": "critic", "json": answer, "usage": TOKENS, **more}


class Requests(Observer):
    def __init__(self) -> None:
        self.seen: list[ChatRequest] = []

    @contextmanager
    def around_call(self, run: Run, request: ChatRequest, model: str) -> Iterator[None]:
        self.seen.append(request)
        yield

    def last_words(self, index: int) -> str:
        return self.seen[index].messages[-1].content


async def test_located_issues_ask_for_a_patch_and_the_draft_is_patched(tmp_path: Path) -> None:
    requests = Requests()
    lines = [generator(DRAFT), critic(LOCATED), generator(BLOCK), critic(CLEAN)]
    run = await run_loop(empty_run(), roles(tmp_path, lines), [requests])
    assert run.outcome and run.outcome.draft == "Dear all,\nthe repair is on Monday.\nYours"
    assert [r.draft.mode for r in run.rounds] == ["first", "patch"]
    assert run.rounds[0].feedback and run.rounds[0].feedback.mode == "patch"
    assert "<<<<<<< SEARCH\n" in requests.last_words(2) and "<<<<<<<" not in requests.last_words(0)


async def test_a_patch_that_does_not_apply_is_retried_once_as_a_rewrite(tmp_path: Path) -> None:
    requests = Requests()
    lines = [generator(DRAFT), critic(LOCATED), generator(LOST), generator("The repair is on Monday."), critic(CLEAN)]
    run = await run_loop(empty_run(), roles(tmp_path, lines), [requests])
    assert run.outcome and run.outcome.stop_reason == "pass"
    draft = run.rounds[1].draft
    assert (draft.text, draft.mode) == ("The repair is on Monday.", "rewrite")
    assert draft.patch_failed == "the search text of block 1 is not in the draft"
    assert [(r.role, r.round, r.call, r.text) for r in run.ledger] == [
        ("generator", 0, 1, None),
        ("critic", 0, 2, None),
        ("generator", 1, 3, LOST),
        ("generator", 1, 4, None),
        ("critic", 1, 5, None),
    ]
    assert run.usage.calls == 5
    assert "<<<<<<< SEARCH\n" in requests.last_words(2) and "<<<<<<<" not in requests.last_words(3)
    assert run.rounds[0].feedback and run.rounds[0].feedback.mode == "patch", "what was asked for first stays recorded"


async def test_the_second_try_is_never_a_patch(tmp_path: Path) -> None:
    lines = [generator(DRAFT), critic(LOCATED), generator(LOST), generator(LOST), critic(CLEAN)]
    run = await run_loop(empty_run(), roles(tmp_path, lines))
    assert (run.rounds[1].draft.text, run.rounds[1].draft.mode) == (LOST, "rewrite")


async def test_a_retry_that_can_not_be_afforded_is_budget_with_the_patch_in_the_ledger(tmp_path: Path) -> None:
    lines = [generator(DRAFT), critic(LOCATED), generator(LOST), generator("unbought")]
    run = await run_loop(empty_run(model_calls=4), roles(tmp_path, lines))
    assert run.outcome
    assert (run.outcome.stop_reason, run.outcome.budget_dimension) == ("budget", "model_calls")
    assert "needs up to 2 model calls, 1 is left" in run.outcome.message
    assert [(r.call, r.text) for r in run.ledger] == [(1, None), (2, None), (3, LOST)]
    assert (run.usage.input_tokens, run.outcome.draft, len(run.rounds)) == (150, DRAFT, 1)


async def test_the_room_of_the_retry_is_what_the_patch_left(tmp_path: Path) -> None:
    requests = Requests()
    wide = {"input_tokens": 400, "output_tokens": 500}
    lines = [generator(DRAFT), critic(LOCATED), generator(LOST, usage=wide), generator("on Monday"), critic(CLEAN)]
    run = await run_loop(empty_run(total_tokens=4_000), roles(tmp_path, lines), [requests])
    patch, rewrite = requests.seen[2], requests.seen[3]
    assert run.outcome and run.outcome.stop_reason == "pass"
    assert (patch.call, rewrite.call) == (3, 4)
    spent = sum((r.input_tokens or 0) + (r.output_tokens or 0) for r in run.ledger[:3])
    assert spent + rewrite.reserved_tokens <= 4_000


async def test_a_retry_that_fails_loses_nothing_that_was_paid_for(tmp_path: Path) -> None:
    refused = {"role": "generator", "error": {"status": 401}}
    run = await run_loop(empty_run(), roles(tmp_path, [generator(DRAFT), critic(LOCATED), generator(LOST), refused]))
    assert run.outcome and run.outcome.error
    assert (run.outcome.stop_reason, run.outcome.error.kind) == ("error", "provider_refused")
    assert [(r.call, r.status, r.text) for r in run.ledger[2:]] == [(3, "ok", LOST), (4, "refused", None)]
    assert run.outcome.draft == DRAFT


async def test_a_retry_cut_by_the_deadline_keeps_both_calls(tmp_path: Path) -> None:
    slow = generator("late", delay_s=60)
    lines = [generator(DRAFT), critic(LOCATED), generator(LOST), slow]
    run = await run_loop(empty_run(elapsed_s=0.5), roles(tmp_path, lines))
    assert run.outcome and run.outcome.budget_dimension == "elapsed_s"
    assert [r.status for r in run.ledger] == ["ok", "ok", "ok", "cancelled"]


async def test_a_patch_that_was_cut_off_is_a_draft_that_is_not_whole(tmp_path: Path) -> None:
    cut = generator(BLOCK[:50], finish_reason="length")
    lines = [generator(DRAFT), critic(LOCATED), cut, generator("the repair is on Monday"), critic(CLEAN)]
    patient = replace(empty_run(), policy=Policy(rules=Rules(patience=2)))
    run = await run_loop(patient, roles(tmp_path, lines, WholeOnly()))
    assert [r.draft.mode for r in run.rounds] == ["first", "patch", "rewrite"]
    assert run.rounds[1].draft.truncated and run.rounds[1].feedback
    assert run.rounds[1].feedback.mode == "rewrite"
    assert run.outcome and run.outcome.stop_reason == "pass"


async def test_a_patch_that_changes_nothing_stops_as_no_change(tmp_path: Path) -> None:
    same = "<<<<<<< SEARCH\nYours\n=======\nYours\n>>>>>>> REPLACE"
    run = await run_loop(empty_run(), roles(tmp_path, [generator(DRAFT), critic(LOCATED), generator(same)]))
    assert run.outcome and run.outcome.stop_reason == "no_change"
    assert run.rounds[1].draft.mode == "patch"


async def test_unlocated_issues_still_ask_for_a_rewrite(tmp_path: Path) -> None:
    run = await run_loop(empty_run(), roles(tmp_path, REVISED))
    assert run.rounds[0].feedback and run.rounds[0].feedback.mode == "rewrite"
    assert run.rounds[1].draft.mode == "rewrite"


class WholeOnly:
    """The built-in gate `whole` and nothing else."""

    async def gather(self, run: Run, hooks: Any) -> Any:
        from reflect_lab.core.task import Task
        from reflect_lab.evidence.gather import Checks

        return await Checks(Task(text="x")).gather(run, hooks)
