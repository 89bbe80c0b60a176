"""The worked examples of the literature that this loop follows, played with scripts: their numbers must come out."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

import reflect_lab as rl
from reflect_lab.core.evidence import Evidence
from reflect_lab.core.run import Outcome, Run
from reflect_lab.documents.tour import tour_task
from reflect_lab.options import RunOptions
from reflect_lab.session import Session

EXAMPLES = Path(__file__).parents[2] / "docs" / "worked-examples"
LETTER = (EXAMPLES / "letter.md").read_text(encoding="utf-8")
INVENTED = "INV-55821"
MEAN = """Write mean(xs).
- [ ] the mean of [2, 4, 6] is 4.0
- [ ] the empty list gives 0.0
"""
MEANS = ("def mean(xs): return sum(xs) / len(xs)", "def mean(xs): return sum(xs) / len(xs) if xs else 0.0")

SQL_TASK = """\
Revenue by country for the last 7 days, the 5 highest. Answer with one SQL query.
- [ ] only orders of the last 7 days
- [ ] at most 5 rows
- [ ] the totals agree with the daily summary
"""
SQL_FIRST = """\
SELECT c.name, SUM(o.amount * r.rate) AS revenue
FROM orders o
JOIN customers k ON k.id = o.customer_id
JOIN countries c ON c.code = k.country_code
JOIN rates r ON r.currency = o.currency
GROUP BY c.name
ORDER BY revenue DESC"""
SQL_LAST = """\
SELECT c.name, SUM(o.amount * r.rate) AS revenue
FROM orders o
JOIN customers k ON k.id = o.customer_id
JOIN countries c ON c.code = k.country_code
JOIN rates r ON r.currency = o.currency AND r.day = o.order_ts::DATE
WHERE o.order_ts >= current_date - 7
GROUP BY c.name
ORDER BY revenue DESC
LIMIT 5"""


def block(search: str, replacement: str) -> str:
    return f"<<<<<<< SEARCH\n{search}\n=======\n{replacement}\n>>>>>>> REPLACE"


def generator(text: str) -> dict[str, Any]:
    return {"role": "generator", "text": text, "usage": {"input_tokens": 300, "output_tokens": 100}}


def critic(score: float, *issues: dict[str, Any]) -> dict[str, Any]:
    answer = {"issues": issues, "score": score, "requirements_checked": ["R1", "R2", "R3"]}
    return {"role": "critic", "json": answer, "usage": {"input_tokens": 500, "output_tokens": 80}}


def played(folder: Path, task: str, lines: list[dict[str, Any]]) -> rl.Run:
    script = folder / "script.jsonl"
    script.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return rl.reflect_sync(task, model=f"scripted:{script}", traces=str(folder / "traces"))


def test_the_query_is_right_after_two_patches(tmp_path: Path) -> None:
    """Evidence of the database turns 0.4 into 0.7 into 0.95: a missing filter first, then a join that multiplies."""
    no_filter = {
        "id": "missing-date-filter",
        "severity": "blocking",
        "requirement": "R1",
        "location": "FROM orders o",
        "evidence": "the plan reads all of `orders`, and 212 countries come back",
        "suggestion": "o.order_ts >= current_date - 7",
    }
    no_limit = {
        "id": "no-limit",
        "severity": "minor",
        "requirement": "R2",
        "location": "ORDER BY revenue DESC",
        "evidence": "212 rows come back where 5 are wanted",
        "suggestion": "LIMIT 5",
    }
    wrong_join = {
        "id": "rate-of-any-day",
        "severity": "blocking",
        "requirement": "R3",
        "location": "r.currency = o.currency",
        "evidence": "each order meets the rate of every day: totals are about three times the summary's",
        "suggestion": "join on the day of the order, too",
    }
    group, order, join = "GROUP BY c.name", "ORDER BY revenue DESC", "ON r.currency = o.currency"
    lines = [
        generator(SQL_FIRST),
        critic(0.4, no_filter, no_limit),
        generator(
            block(group, f"WHERE o.order_ts >= current_date - 7\n{group}") + "\n" + block(order, f"{order}\nLIMIT 5")
        ),
        critic(0.7, wrong_join),
        generator(block(join, f"{join} AND r.day = o.order_ts::DATE")),
        critic(0.95),
    ]
    run = played(tmp_path, SQL_TASK, lines)
    assert run.outcome is not None
    assert (run.outcome.stop_reason, run.outcome.status, run.outcome.draft) == ("pass", "accepted", SQL_LAST)
    assert [r.draft.mode for r in run.rounds] == ["first", "patch", "patch"]
    assert [r.critique.score for r in run.rounds if r.critique] == [0.4, 0.7, 0.95]
    assert [r.feedback.sent for r in run.rounds if r.feedback] == [
        ("missing-date-filter", "no-limit"),
        ("rate-of-any-day",),
    ]
    assert [r.draft.extraction for r in run.rounds] == ["whole", "patch:2", "patch:1"]
    assert run.usage.calls == 6


@pytest.fixture
async def session(tmp_path: Path) -> AsyncIterator[Session]:
    async with Session(traces=tmp_path / "traces", environ={"HOME": str(tmp_path)}, cwd=tmp_path) as opened:
        yield opened


def outcome(run: Run) -> Outcome:
    assert run.outcome is not None
    return run.outcome


def requests(run: Run) -> dict[str, int]:
    """Model requests by role."""
    roles = [row.role for row in run.ledger]
    return {role: roles.count(role) for role in dict.fromkeys(roles)}


def piece(run: Run, index: int, source: str) -> Evidence:
    return next(e for e in run.rounds[index].evidence or () if e.source == source)


def passed_checks(run: Run) -> list[tuple[int, int]]:
    """Of each round, how many checks passed, and of how many; gates left out."""
    counted = [[e.status == "passed" for e in round_.evidence or () if not e.gate] for round_ in run.rounds]
    return [(sum(passed), len(passed)) for passed in counted]


def script(folder: Path, *lines: dict[str, object]) -> RunOptions:
    (folder / "script.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return RunOptions(model="scripted:script.jsonl")


def drafts(*codes: str) -> list[dict[str, object]]:
    return [{"role": "generator", "text": f"```python\n{code}\n```"} for code in codes]


# The letter: a broken mixer, an invoice number that nobody gave, a demand without a deadline.


async def test_the_letter_takes_four_requests_instead_of_one_and_115_paise_instead_of_40(session: Session) -> None:
    reflected = await session.reflect(LETTER, base=EXAMPLES)
    single = await session.reflect(LETTER, RunOptions(reflection="off"), base=EXAMPLES)
    assert requests(reflected) == {"generator": 2, "critic": 2} and reflected.usage.calls == 4
    assert requests(single) == {"generator": 1}
    assert (reflected.usage.cost, reflected.usage.currency) == (pytest.approx(1.15), "INR")
    assert (single.usage.cost, single.usage.currency) == (pytest.approx(0.40), "INR")


async def test_the_letter_is_accepted_with_no_open_problem(session: Session) -> None:
    run = await session.reflect(LETTER, base=EXAMPLES)
    ended = outcome(run)
    assert (ended.stop_reason, ended.status, ended.draft_index, ended.open_blocking) == ("pass", "accepted", 1, ())
    assert ended.draft is not None and INVENTED not in ended.draft and "within 15 days" in ended.draft


async def test_fifteen_days_stand_in_no_fact_and_do_not_stop_the_letter(session: Session) -> None:
    run = await session.reflect(LETTER, base=EXAMPLES)
    facts = piece(run, 1, "facts")
    assert [(f.id, f.status) for f in facts.findings] == [("15", "advisory")]
    assert facts.status == "passed" and outcome(run).status == "accepted"


async def test_the_invented_invoice_is_found_by_code_and_by_the_critic(session: Session) -> None:
    run = await session.reflect(LETTER, base=EXAMPLES)
    facts = piece(run, 0, "facts")
    assert facts.status == "failed" and [INVENTED.casefold() in f.id.casefold() for f in facts.failed_findings] == [
        True
    ]
    critique = run.rounds[0].critique
    assert critique is not None and critique.discarded == ()
    by_code, by_critic, deadline = critique.issues
    assert (by_code.source, by_code.severity) == ("facts", "blocking")
    assert by_critic.ground is not None and by_critic.ground.kind == "absent"
    start, end = by_critic.ground.start, by_critic.ground.end
    assert run.rounds[0].draft.text[start:end] == INVENTED
    assert (deadline.id, deadline.requirement) == ("deadline", "R1")


async def test_a_date_that_differs_from_the_facts_is_flagged(session: Session, tmp_path: Path) -> None:
    wrong = {"role": "generator", "text": "It was delivered broken on 05/08/2026."}
    options = RunOptions(model=script(tmp_path, wrong).model, reflection="off")
    run = await session.reflect(LETTER, options)
    (finding,) = piece(run, 0, "facts").failed_findings
    assert "2026-08-05" in finding.message and outcome(run).status != "accepted"


async def test_a_letter_costs_88_paise_on_the_average_of_its_revisions(session: Session) -> None:
    """60 % of the letters need no revision, 30 % one and 10 % two: 0.6 x 0.61 + 0.3 x 1.15 + 0.1 x 1.70."""
    costs = []
    for revisions, name in enumerate(("letter-clean", "letter", "letter-twice")):
        run = await session.reflect(LETTER, RunOptions(model=f"scripted:{name}.jsonl"), base=EXAMPLES)
        assert (outcome(run).status, len(run.rounds) - 1) == ("accepted", revisions)
        assert run.usage.cost is not None
        costs.append(run.usage.cost)
    assert costs == pytest.approx([0.61, 1.15, 1.70])
    assert sum(share * cost for share, cost in zip((0.6, 0.3, 0.1), costs, strict=True)) == pytest.approx(0.881)


# The mean of a list: right but for the empty one.


async def test_the_mean_passes_three_of_four_checks_and_then_four(session: Session) -> None:
    run = await session.reflect(tour_task(), RunOptions(model="scripted:tour"))
    assert passed_checks(run) == [(3, 4), (4, 4)]
    assert [e.source for e in run.rounds[0].evidence or () if e.status == "failed"] == ["empty-list"]
    assert (outcome(run).stop_reason, outcome(run).draft_index) == ("pass", 1)
    assert requests(run) == {"generator": 2, "critic": 2}, "a model reads both drafts: four requests, not three"


async def test_the_share_of_checks_is_the_score_where_code_alone_judges(session: Session) -> None:
    run = await session.reflect(tour_task(), RunOptions(model="scripted:tour", policy={"rules": {"critic": "never"}}))
    assert [(r.critique.score, r.critique.score_kind) for r in run.rounds if r.critique] == [
        (0.75, "checks"),
        (1.0, "checks"),
    ]
    assert requests(run) == {"generator": 2} and outcome(run).stop_reason == "pass"


async def test_three_requests_are_enough_where_code_alone_judges_one_of_the_two_drafts(
    session: Session, tmp_path: Path
) -> None:
    lines: list[dict[str, object]] = [
        *drafts(*MEANS),
        {"role": "check", "name": "requirements", "status": "failed", "gate": True, "text": "mean([]) raised"},
        {"role": "check", "name": "requirements", "status": "passed", "gate": True},
        {"role": "critic", "json": {"issues": [], "score": 0.9}},
    ]
    run = await session.reflect(f"---\nchecks: [requirements]\n---\n{MEAN}", script(tmp_path, *lines))
    assert requests(run) == {"generator": 2, "critic": 1}
    assert (outcome(run).stop_reason, outcome(run).draft_index) == ("pass", 1)


async def test_no_revision_is_bought_that_its_critic_could_not_judge(session: Session) -> None:
    policy = {"limits": {"critic_calls": 1}}
    run = await session.reflect(tour_task(), RunOptions(model="scripted:tour", policy=policy))
    assert (outcome(run).stop_reason, outcome(run).budget_dimension) == ("budget", "critic_calls")
    assert requests(run) == {"generator": 1, "critic": 1}


async def test_a_mean_that_changes_its_argument_fails_one_check(session: Session, tmp_path: Path) -> None:
    sorting = "def mean(xs):\n    xs.sort()\n    return sum(xs) / len(xs) if xs else 0.0"
    options = RunOptions(model=script(tmp_path, *drafts(sorting)).model, reflection="off")
    run = await session.reflect(tour_task(), options)
    assert passed_checks(run) == [(3, 4)]
    assert piece(run, 0, "argument-unchanged").status == "failed"


async def test_any_exception_is_a_failed_check_and_no_crash(session: Session, tmp_path: Path) -> None:
    looking = "def mean(xs):\n    first = xs[0]\n    return sum(xs) / len(xs)"
    options = RunOptions(model=script(tmp_path, *drafts(looking)).model, reflection="off")
    run = await session.reflect(tour_task(), options)
    assert passed_checks(run) == [(3, 4)]
    assert "IndexError" in piece(run, 0, "empty-list").text
