"""Writes the worked runs into `docs/stop-rules.md`: `python scripts/make_stop_rules.py`.

Each cell `docs/stop-rules/REASON.md` is run through the real session and loop, with the replies of `REASON.jsonl`. What
stands on the page between `<!-- NAME -->` and `<!-- end NAME -->` is made here; the words around it are hand-written.
"""

from __future__ import annotations

import asyncio
import re
import sys
import tempfile
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext, suppress
from pathlib import Path
from typing import get_args

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from reflect_lab.core.chat import ChatRequest  # noqa: E402
from reflect_lab.core.critique import Critique  # noqa: E402
from reflect_lab.core.observer import Latest  # noqa: E402
from reflect_lab.core.policy import Policy, Rules  # noqa: E402
from reflect_lab.core.progress import is_gain  # noqa: E402
from reflect_lab.core.run import Draft, Round, Run, StopReason  # noqa: E402
from reflect_lab.documents.policy_file import load_policy  # noqa: E402
from reflect_lab.options import RunOptions  # noqa: E402
from reflect_lab.session import Session  # noqa: E402

PAGE = ROOT / "docs" / "stop-rules.md"
CELLS = ROOT / "docs" / "stop-rules"
REASONS: tuple[str, ...] = get_args(StopReason)
LONGEST = 130
"""Characters of a text that a table shows."""

ONE_LIMIT: Mapping[str, Mapping[str, object]] = {
    "revisions": {"revisions": 1},
    "model_calls": {"model_calls": 3},
    "critic_calls": {"critic_calls": 1},
    "total_tokens": {"total_tokens": 900},
    "cost": {"cost": 1.0, "currency": "INR"},
    "tool_calls": {"tool_calls": 1},
}
"""The limits under which the cell `budget` is run, one at a time; `elapsed_s` has a cell of its own."""

GAINS = ((0.40, 0.44), (0.40, 0.45), (0.96, 0.97), (0.96, 0.99), (0.70, 0.60))
"""Scores of the best round so far and of a new one."""


class Interrupt(Latest):
    """Interrupts the run, as Stop or Ctrl-C does, while the critic is being asked."""

    def around_call(self, run: Run, request: ChatRequest, model: str) -> AbstractContextManager[object]:
        task = asyncio.current_task()
        if request.role == "critic" and task is not None:
            task.cancel()
        return nullcontext()


async def play(session: Session, name: str, policy: Policy | None = None) -> Run:
    """The finished run of one cell; `policy` takes the place of the cell's own."""
    latest = Interrupt() if name == "cancelled" else Latest()
    with suppress(asyncio.CancelledError):
        await session.reflect(_text(name), RunOptions(policy=policy), observers=[latest], base=CELLS)
    assert latest.ended is not None, f"the run of {name} did not end"
    return latest.ended


async def play_all() -> dict[str, Run]:
    """Every worked run: one for each stop reason, and one for each limit (`budget/DIMENSION`)."""
    with tempfile.TemporaryDirectory() as folder:
        async with Session(traces=folder, environ={"HOME": folder}, cwd=CELLS) as session:
            runs = {reason: await play(session, reason) for reason in REASONS}
            for dimension, limits in ONE_LIMIT.items():
                runs[f"budget/{dimension}"] = await play(session, "budget", load_policy({"limits": limits}))
            runs["budget/elapsed_s"] = await play(session, "budget-elapsed_s")
    return runs


def blocks(runs: Mapping[str, Run]) -> dict[str, str]:
    """The generated parts of the page, by name."""
    made = {f"run {reason}": worked_run(reason, runs[reason]) for reason in REASONS}
    return {**made, "notice": _fenced(_body("pass")), "limits": limits_table(runs), "gains": gains_table()}


def filled(page: str, parts: Mapping[str, str]) -> str:
    """The page with its generated parts put in. Raises ValueError where the page has no place for one of them."""
    for name, text in parts.items():
        block = f"<!-- {name} -->\n\n{text}\n\n<!-- end {name} -->"
        pattern = re.compile(rf"<!-- {re.escape(name)} -->\n.*?<!-- end {re.escape(name)} -->", re.DOTALL)
        if len(pattern.findall(page)) != 1:
            raise ValueError(f"{PAGE.name} must have one place for {name!r}")
        page = pattern.sub(block.replace("\\", r"\\"), page)
    return page


def worked_run(name: str, run: Run) -> str:
    """The cell, a row for each round, and how it ended."""
    outcome = run.outcome
    assert outcome is not None
    rows = ["| round | draft | checks | critic | decision |", "|---|---|---|---|---|"]
    rows += [_row(run, round_) for round_ in run.rounds]
    decision = run.rounds[-1].decision
    numbers = decision.numbers if decision and decision.action == "stop" else {}
    end = f"**{outcome.status}**, `{outcome.stop_reason}`: {_plain(outcome.message)}."
    if numbers:
        told = [f"{key.replace('_', ' ')} {_plain(_number(value))}" for key, value in numbers.items()]
        end += f" Numbers: {', '.join(told)}."
    end += f" Draft {outcome.draft_index} is returned after {run.usage.calls} model call{'s' * (run.usage.calls != 1)}."
    return "\n".join([task_of(name), "", *rows, "", end])


def task_of(name: str) -> str:
    """What a run was asked: the task that most have, or its own; and the policy, where it is not the default."""
    if _body(name) != _body("pass"):
        return _fenced(_text(name))
    options = [line for line in _text(name).split("---\n")[1].splitlines() if not line.startswith("model:")]
    return "*The task:* the notice" + (", with\n\n```yaml\n" + "\n".join(options) + "\n```" if options else ".")


def limits_table(runs: Mapping[str, Run]) -> str:
    """One row for each dimension of the budget, from the same cell under one limit each."""
    rows = ["| limit | what the run says at its end | drafts | model calls |", "|---|---|---|---|"]
    for name, run in runs.items():
        _, _, dimension = name.partition("budget/")
        if not dimension:
            continue
        assert run.outcome is not None and run.outcome.budget_dimension == dimension, (name, run.outcome)
        limit = getattr(run.policy.limits, dimension)
        message = re.sub(r"after [\d.]+ s", "after … s", run.outcome.message)  # the clock is a real one
        message = re.sub(r"[\d,]+ tokens", "… tokens", message)  # an estimate, which changes with the prompts' wording
        rows.append(f"| `{dimension}: {limit:g}` | {_plain(message)} | {len(run.rounds)} | {run.usage.calls} |")
    return "\n".join(rows)


def gains_table(rules: Rules = Rules()) -> str:
    """Whether a score is a gain over the best so far, as the core decides it."""
    rows = ["| best so far | new | rise | needed | a gain? |", "|---|---|---|---|---|"]
    for old, new in GAINS:
        needed = min(rules.min_gain, (1 - old) / 2)
        answer = "yes" if is_gain(_scored(new), _scored(old), rules) else "no"
        rows.append(f"| {old:.2f} | {new:.2f} | {new - old:+.2f} | {needed:.2f} | {answer} |")
    return "\n".join(rows)


def _text(name: str) -> str:
    return (CELLS / f"{name}.md").read_text(encoding="utf-8")


def _body(name: str) -> str:
    """A cell's text below its front matter."""
    return _text(name).split("---\n", 2)[2]


def _fenced(text: str) -> str:
    return f"````markdown\n{text.strip()}\n````"


def _scored(score: float) -> Round:
    return Round(
        index=0, draft=Draft(index=0, text=""), critique=Critique(validity="ok", score=score, score_kind="critic")
    )


def _row(run: Run, round_: Round) -> str:
    cells = (str(round_.index), _code(round_.draft.text), _checks(round_), _critic(run, round_), _decision(round_))
    return f"| {' | '.join(cells)} |"


def _checks(round_: Round) -> str:
    told = []
    for one in round_.evidence or ():
        if one.gate and one.status == "passed":
            continue
        said = one.failed_findings[0].message if one.failed_findings else "" if one.status == "passed" else one.text
        told.append(f"{one.source} {one.status.replace('_', ' ')}" + (f": {_plain(said)}" if said else ""))
    return "<br>".join(told) or "–"


def _critic(run: Run, round_: Round) -> str:
    critique = round_.critique
    if any(row.role == "critic" and row.round == round_.index and row.status == "cancelled" for row in run.ledger):
        return "interrupted"
    if critique is None or critique.validity == "not_asked":
        return "not asked"
    if critique.validity != "ok":
        return f"{critique.validity}: {_plain(critique.problem or '')}"
    issues = [f"{i.severity} {i.id} ({i.requirement})" for i in critique.issues if i.source == "critic"]
    return "; ".join([f"score {_number(critique.score)}", *(issues or ["no issue"])])


def _decision(round_: Round) -> str:
    decision = round_.decision
    if decision is None:
        return "–"
    return f"revise: {_plain(decision.message)}" if decision.action == "revise" else f"stop: `{decision.reason}`"


def _number(value: float | int | str | None) -> str:
    return "unknown" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


def _plain(text: str) -> str:
    """A text within a table or a sentence: one line, no mark-up."""
    line = " ".join(text.split())
    line = line if len(line) <= LONGEST else line[: LONGEST - 1] + "…"
    return re.sub(r"([|*_<\[\]`])", r"\\\1", line)


def _code(text: str) -> str:
    line = " ".join(text.split())
    return f"`{line if len(line) <= LONGEST else line[: LONGEST - 1] + '…'}`".replace("|", "\\|")


def main() -> None:
    page = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(filled(page, blocks(asyncio.run(play_all()))), encoding="utf-8")


if __name__ == "__main__":
    main()
