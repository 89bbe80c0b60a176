"""Revenue by country for the last 7 days, live on a made-up warehouse: the drafts and the critic are scripted, every
verdict of the check is what DuckDB says. The last draft is right, and so is every number before it."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import duckdb
import pytest

from reflect_lab.core.evidence import Evidence
from reflect_lab.core.run import Run
from reflect_lab.documents.run_document import dump_run, load_run
from reflect_lab.options import RunOptions
from reflect_lab.session import Session

EXAMPLES = Path(__file__).parents[2] / "docs" / "worked-examples"
TASK = (EXAMPLES / "revenue.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return asyncio.run(performed(TASK, RunOptions(), tmp_path_factory.mktemp("story")))


async def performed(task: str, options: RunOptions, folder: Path) -> Run:
    async with Session(traces=folder, environ={"HOME": str(folder)}, cwd=folder) as session:
        return await session.reflect(task, options, base=EXAMPLES)


def evidence(run: Run, index: int) -> Evidence:
    return next(e for e in run.rounds[index].evidence or () if e.source == "sql")


def failed(run: Run, index: int) -> list[str]:
    return [f.id for f in evidence(run, index).failed_findings]


def test_it_passes_after_two_patches(run: Run) -> None:
    assert run.outcome is not None
    assert (run.outcome.status, run.outcome.stop_reason, run.outcome.draft_index) == ("accepted", "pass", 2)
    assert [r.draft.mode for r in run.rounds] == ["first", "patch", "patch"]
    assert [r.critique.score for r in run.rounds if r.critique] == [0.4, 0.7, 0.95]
    assert run.usage.calls == 6 and run.task.language == "sql"


def test_the_first_draft_is_a_full_scan_of_212_countries(run: Run) -> None:
    assert failed(run, 0) == ["plan:full_scan:orders", "plan:fanout:rates", "total:revenue"]
    messages = {f.id: f.message for f in evidence(run, 0).findings}
    assert messages["rows"] == "212 rows come back"
    assert "a full scan of orders, 12,000 rows" in messages["plan:full_scan:orders"]
    feedback = run.rounds[0].feedback
    assert feedback is not None and feedback.mode == "patch", "every blocking problem has its clause"
    assert {"missing-date-filter", "no-limit"} <= set(feedback.sent)


def test_the_first_patch_leaves_the_join_that_makes_totals_three_times_the_reference(run: Run) -> None:
    assert failed(run, 1) == ["plan:fanout:rates", "total:revenue"]
    messages = {f.id: f.message for f in evidence(run, 1).findings}
    assert messages["rows"] == "5 rows come back"
    times = re.search(r"is ([\d.]+) times the reference", messages["total:revenue"])
    assert times is not None and 2.8 < float(times[1]) < 3.2
    assert "(3.0 times)" in messages["plan:fanout:rates"]
    feedback = run.rounds[1].feedback
    assert feedback is not None and feedback.mode == "patch"
    assert feedback.sent == ("sql/plan:fanout:rates", "sql/total:revenue", "rate-of-any-month")


def test_the_second_patch_agrees_with_the_summary(run: Run) -> None:
    assert failed(run, 2) == [] and evidence(run, 2).status == "passed"
    assert {f.id: f.status for f in evidence(run, 2).findings} == {
        "rows": "passed",
        "plan:full_scan:orders": "passed",
        "plan:fanout": "passed",
        "total:revenue": "passed",
    }


def test_the_accepted_query_is_right_on_the_whole_warehouse(run: Run) -> None:
    """Not by the check: the query and the summary are compared here, row by row."""
    assert run.outcome is not None and run.outcome.draft is not None
    with duckdb.connect(":memory:") as connection:
        connection.execute((EXAMPLES / "warehouse.sql").read_text(encoding="utf-8"))
        ours = connection.execute(run.outcome.draft).fetchall()
        theirs = connection.execute(
            "SELECT country, sum(revenue) FROM daily_revenue WHERE day >= DATE '2026-06-24' "
            "GROUP BY country ORDER BY 2 DESC LIMIT 5"
        ).fetchall()
    assert [country for country, _ in ours] == [country for country, _ in theirs]
    assert [value for _, value in ours] == pytest.approx([value for _, value in theirs], abs=0.1)


def test_the_evidence_says_where_it_ran_and_travels_in_the_document(run: Run) -> None:
    piece = evidence(run, 1)
    assert piece.sandbox is not None and piece.sandbox.level >= 1
    assert piece.sandbox.verdict_integrity == "split"
    assert {"duckdb", "code_sha256", "tests_sha256"} <= piece.provenance.keys()
    assert load_run(dump_run(run)) == run


async def test_without_a_reference_the_critic_s_word_alone_would_have_stood(tmp_path: Path) -> None:
    """The same first patch, judged by a check that only runs it: the fan-out is in the plan, whatever a critic says."""
    bare = re.sub(r"      filter.*?      requirements", "      requirements", TASK, flags=re.DOTALL)
    run = await performed(bare, RunOptions(reflection="off"), tmp_path)
    assert failed(run, 0) == ["plan:fanout:rates"]
