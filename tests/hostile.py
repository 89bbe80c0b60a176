"""Roles that play by no rules, and a clock that does not wait for them."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from typing import Any

from reflect_lab.core.chat import CallHooks, ChatReply, ChatRequest, Message
from reflect_lab.core.critique import CriticReply, RaisedIssue
from reflect_lab.core.errors import ModelFailed, WrongUse
from reflect_lab.core.evidence import Evidence, Finding
from reflect_lab.core.roles import EvidenceHooks
from reflect_lab.core.run import Draft, LedgerRow, Run
from tests.core.simulate import Turn, issue, reply, report
from tests.core.strategies import ENORMOUS, INJECTION
from tests.players import Model, Player, charged

NAN = float("nan")
HUGE = ENORMOUS * 8


class Hang:
    """Never answers; with `swallows` it answers when it is cancelled, as if nothing had been said."""

    def __init__(self, swallows: bool = False) -> None:
        self.swallows = swallows

    def __repr__(self) -> str:
        return f"Hang({self.swallows})"


FAULTS: tuple[object, ...] = (
    ValueError("junk"), RuntimeError(INJECTION), KeyError(), StopIteration(), StopAsyncIteration(), TimeoutError(),
    AssertionError(), ExceptionGroup("two", [ValueError("a"), OSError("b")]), RecursionError("deep"), MemoryError(),
    asyncio.CancelledError("of its own"), ModelFailed("provider_refused", "no credit"), WrongUse("odd"),
    UnicodeEncodeError("utf-8", "\ud800", 0, 1, "surrogate"),
)  # fmt: skip
HANGS = (Hang(), Hang(swallows=True))
ANSWERS: tuple[object, ...] = (
    None, 7, "text", object(), ChatReply(text=""), ChatReply(text=HUGE), ChatReply(text=None),  # type: ignore[arg-type]
    ChatReply(text="x", finish_reason="length", truncated=True), ChatReply(text="\ud800", notices=None),  # type: ignore[arg-type]
)  # fmt: skip
PROMPTS: tuple[object, ...] = (None, 7, (Message(role="user", content=HUGE),), iter(()))
DRAFTS: tuple[object, ...] = (
    None, "a draft", Draft(index=99, text="c"), Draft(index=-1, text="d", candidate=7), Draft(index=0, text=HUGE),
    Draft(index=0, text="a"), Draft(index=0, text="\ud800\0"), Draft(index=0, text="", truncated=True),
    Draft(index=0, text="e", parent=99, mode="fixed"), [Draft(index=0, text="f")],
)  # fmt: skip
CRITIQUES: tuple[object, ...] = (
    None, "fine", CriticReply(validity="ok", score=NAN), CriticReply(validity="ok", score=-float("inf")),
    CriticReply(validity="ok", issues=None), CriticReply(validity="ok", issues=("a",)),  # type: ignore[arg-type]
    CriticReply(validity="fine", score=1.0), CriticReply(validity="ok", score="1.0"),  # type: ignore[arg-type]
    CriticReply(validity="ok", issues=(RaisedIssue(id="a", severity="huge", requirement="R1"),), score=0.2),  # type: ignore[arg-type]
    CriticReply(validity="ok", issues=(RaisedIssue(id="a", severity="huge", requirement="R1"),) * 2),  # type: ignore[arg-type]
    CriticReply(validity="ok", issues=(RaisedIssue(id=None, severity="minor", requirement="R1"),), score=0.2),  # type: ignore[arg-type]
    CriticReply(validity="ok", issues=(issue("R1", evidence=HUGE),) * 300, score=0.2),
    CriticReply(validity="ok", issues=(issue("", evidence=INJECTION),), score=0.0), reply(issue("R1"), score=0.3),
)  # fmt: skip
GOOD = report(source="syntax", gate=True)
REPORTS: tuple[object, ...] = (
    None, 7, ("passed",), [GOOD, report()], iter((GOOD, report())), (GOOD,), (GOOD, report("case:1")),
    (GOOD, report(status="fine")), (GOOD, report(status=None), report("case:1")),  # type: ignore[arg-type]
    (GOOD, Evidence(source="tests", kind="k", rank="executed", status="failed", text=None)),  # type: ignore[arg-type]
    (GOOD, Evidence(source="tests", kind="k", rank="executed", status="failed", findings=None)),  # type: ignore[arg-type]
    (GOOD, Evidence(source="tests", kind="k", rank="god", status="failed", text="x")),  # type: ignore[arg-type]
    (GOOD, Evidence(source="tests", kind="k", rank="executed", status="failed", text=HUGE, seconds=NAN)),
    (GOOD, Evidence(source="tests", kind="k", rank="executed", status="failed", executions=-5, seconds=-9.0)),
    (GOOD, Evidence(source="tests", kind="k", rank="executed", status="failed", fix="a", text=INJECTION)),
    (GOOD, Evidence(source="tests", kind="k", rank="executed", status="failed", fix=HUGE, text="")),
    (GOOD, Evidence(source="tests", kind="k", rank="executed", status="failed",
                    findings=(Finding(id=None, status="failed", message=None),))),  # type: ignore[arg-type]
    (GOOD, report(source="whole", status="failed")),
)  # fmt: skip


class Hostile(Player):
    """Plays its turns; an act `(place, n, what)` is done at the n-th visit of its place instead: it is raised, hung on,
    or answered with."""

    def __init__(self, turns: Sequence[Turn], acts: Sequence[tuple[str, int, object]]) -> None:
        self.acts = {(place, n): what for place, n, what in acts}
        self.visits: Counter[str] = Counter()
        super().__init__(turns, HostileModel())
        self.client.hostile = self  # type: ignore[attr-defined]

    def act(self, place: str) -> object:
        """What is done instead at this visit of a place."""
        self.visits[place] += 1
        return self.acts.get((place, self.visits[place] - 1), _BEHAVES)

    def messages(self, run: Run, step: Any) -> Any:
        usual = super().messages(run, step)
        return _said(self.act("prompt"), usual)

    in_lines = messages

    def draft(self, run: Run, step: Any, reply: Any) -> Any:
        act = self.act("draft")
        known = step.index < len(self.turns) and step.candidate < len(self.turns[step.index].candidates)
        usual = super().draft(run, step, reply) if known else Draft(index=0, text=f"{step.index} {step.candidate}")
        return _said(act, usual)

    def read(self, run: Run, reply: Any) -> Any:
        act = self.act("critique")
        left = self.left[run.rounds[-1].index] if run.rounds[-1].index < len(self.left) else []
        return _said(act, left.pop(0) if left else CriticReply(validity="ok", score=0.1))

    async def gather(self, run: Run, hooks: EvidenceHooks) -> Any:
        act = await _waited(self.act("report"))
        index = run.rounds[-1].draft.index
        return _said(act, self.turns[index % len(self.turns)].evidence)

    def _has_line(self, request: ChatRequest) -> ChatReply:
        return ChatReply(text="")


class HostileModel(Model):
    async def complete(self, request: ChatRequest, hooks: CallHooks) -> Any:
        act = self.hostile.act("answer")  # type: ignore[attr-defined]
        row = charged(request)
        try:
            act = await _waited(act)
        except BaseException:
            hooks.attempt(LedgerRow(**{**row.__dict__, "status": "cancelled", "cost_uncertain": True}))
            raise
        hooks.attempt(row)
        return _said(act, ChatReply(text=""))


_BEHAVES = object()


async def _waited(act: object) -> object:
    if not isinstance(act, Hang):
        return act
    try:
        await asyncio.get_running_loop().create_future()
    except asyncio.CancelledError:
        if not act.swallows:
            raise
    return _BEHAVES


def _said(act: object, usual: object) -> object:
    if isinstance(act, BaseException):
        raise act
    return usual if act is _BEHAVES else act


class ImpatientLoop(asyncio.SelectorEventLoop):
    """An event loop whose clock runs ahead to the next timer instead of waiting for it."""

    ahead = 0.0

    def time(self) -> float:
        return super().time() + self.ahead

    def _run_once(self) -> None:
        if not self._ready and self._scheduled:  # type: ignore[attr-defined]
            self.ahead += max(0.0, self._scheduled[0].when() - self.time())  # type: ignore[attr-defined]
        super()._run_once()  # type: ignore[misc]
