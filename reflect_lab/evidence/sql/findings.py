"""From what a query's run answered to typed findings."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

from reflect_lab.core.evidence import Finding, Location
from reflect_lab.evidence.sql.clauses import clause_of
from reflect_lab.evidence.sql.database import Copy
from reflect_lab.evidence.sql.options import MOST_ROWS, Filter, SqlOptions
from reflect_lab.evidence.sql.plan import Multiplied, Step, multiplying_joins, read_plan, unfiltered
from reflect_lab.evidence.wording import counted, shown

Answer = Mapping[str, object]
Answers = Sequence[Answer]
_WHOLE = Location(kind="whole")


def first(answers: Answers, key: str) -> Answer | None:
    """The first answer that says something of `key`."""
    return next((answer for answer in answers if key in answer), None)


class SqlFindings:
    """Findings of one draft. `stopped` says why its run ended before all was answered; None where it did not."""

    def __init__(
        self, sql: str, options: SqlOptions, copy: Copy, answers: Answers, stopped: str | None, requirement: str | None
    ) -> None:
        self._sql, self._options, self._copy, self._answers = sql, options, copy, answers
        self._stopped, self._requirement = stopped, requirement
        analysed = first(answers, "analysed") or first(answers, "plan")
        self._plan = read_plan(str(next(iter(analysed.values())))) if analysed else None
        self._result = first(answers, "rows")

    def all(self) -> tuple[Finding, ...]:
        """In a fixed order: whether it runs, rows, plan, totals, the check block's cases."""
        return (*self._runs(), *self._rows(), *self._filters(), *self._joins(), *self._totals(), *self._cases())

    def of_block(self) -> tuple[Finding, ...]:
        """What a check block says beside a check that looks at the query as a whole: what kept its cases from being
        judged, and its cases."""
        kept_from = (finding for finding in (*self._runs(), *self._rows()) if finding.status != "passed")
        return (*kept_from, *self._cases())

    def _finding(
        self,
        name: str,
        status: Literal["passed", "failed", "error", "not_run", "advisory"],
        message: str,
        location: Location | None = None,
    ) -> Finding:
        return Finding(
            id=shown(name, 120), status=status, message=message, requirement=self._requirement, location=location
        )

    def _runs(self) -> Iterator[Finding]:
        problem = next((a for a in self._answers if "problem" in a and "kind" in a), None)
        if problem is not None:
            line = problem["line"]
            said = _readable(str(problem["problem"]))
            yield self._finding("query", "failed", said, Location(kind="line", value=str(line)) if line else _WHOLE)
        elif self._stopped is not None:
            yield self._finding("query", "failed", self._stopped, _WHOLE)

    def _rows(self) -> Iterator[Finding]:
        if self._result is None:
            return
        most = MOST_ROWS if self._options.max_rows is None else self._options.max_rows
        number = int(str(self._result["rows"]))
        rows = counted(number, "row")
        if self._result["is_cut"]:
            yield self._finding("rows", "failed", f"over {rows} would come back, at most that many are allowed", _WHOLE)
        else:
            of = f", at most {most:,} are allowed" if self._options.max_rows is not None else ""
            yield self._finding("rows", "passed", f"{rows} {'comes' if number == 1 else 'come'} back{of}")

    def _filters(self) -> Iterator[Finding]:
        for wanted in self._options.filters:
            name, by = f"plan:full_scan:{wanted.table}", f" by {wanted.column}" if wanted.column else ""
            if self._plan is None:
                yield self._finding(name, "not_run", f"there is no plan that says how {wanted.table} is read")
                continue
            yield self._filter(name, by, wanted, self._plan)

    def _filter(self, name: str, by: str, wanted: Filter, plan: Step) -> Finding:
        table = self._copy.table(wanted.table) or wanted.table
        reading = unfiltered(plan, wanted, self._copy.copied[table])
        if reading is None:
            return self._finding(name, "passed", f"{wanted.table} is not read as a whole{by}")
        why = f"the filter{by} lets all of them through" if reading.has_filter else f"nothing narrows them{by}"
        rows = counted(self._copy.rows[table], "row")
        message = f"the plan is a full scan of {wanted.table}, {rows}: {why}"
        return self._finding(name, "failed", message, clause_of(self._sql, wanted.table, "from", "join"))

    def _joins(self) -> Iterator[Finding]:
        if first(self._answers, "analysed") is None or self._plan is None:
            return
        found = multiplying_joins(self._plan, self._options.grain)
        for join in found:
            yield self._multiplied(join)
        if not found:
            what = f"a row of {self._options.grain}" if self._options.grain else "rows of both sides"
            yield self._finding("plan:fanout", "passed", f"no join multiplies {what}")

    def _multiplied(self, join: Multiplied) -> Finding:
        message = (
            f"the join with {join.table} multiplies rows: {join.before:,} become {join.after:,} "
            f"({join.times:.1f} times), so its condition leaves several rows of {join.table} for one"
        )
        # Where no aggregate is made of them, many-to-many may be what is asked for.
        status: Literal["failed", "advisory"] = "failed" if join.is_summed or self._options.grain else "advisory"
        where = clause_of(self._sql, join.table, "join", "from")
        return self._finding(f"plan:fanout:{join.table}", status, message, where)

    def _totals(self) -> Iterator[Finding]:
        for column, wanted in self._copy.references.items():
            answer = next((a for a in self._answers if a.get("total") == column), None)
            yield self._total(column, wanted, answer)

    def _total(self, column: str, wanted: float, answer: Answer | None) -> Finding:
        name = f"total:{column}"
        sampled = [table for table in self._copy.sampled if self._plan is None or table in self._plan.tables]
        if answer is None or (self._result is not None and self._result["is_cut"]):
            return self._finding(name, "not_run", f"the total of {column} was not compared: not all rows are known")
        if sampled:
            few, many = self._copy.copied[sampled[0]], self._copy.rows[sampled[0]]
            part = f"{few:,} of {many:,} rows of {sampled[0]}"
            return self._finding(name, "not_run", f"the total of {column} was not compared: the query ran on {part}")
        where = clause_of(self._sql, column, "select")
        if "problem" in answer:
            said = "is no column of the result" if answer["problem"] == "no_column" else "is no column of numbers"
            return self._finding(name, "failed", f"{column} {said}, so its total can't be compared", where)
        value = answer["value"]
        if not isinstance(value, int | float) or not math.isfinite(value):
            return self._finding(name, "failed", f"the total of {column} is no number, {wanted:,.2f} is wanted", where)
        if math.isclose(value, wanted, rel_tol=self._options.tolerance, abs_tol=1e-9):
            return self._finding(name, "passed", f"the total of {column} agrees with the reference, {wanted:,.2f}")
        times = f"{value / wanted:.2f} times the reference" if wanted else "not the reference"
        message = f"the total of {column} is {times}: {value:,.2f} against {wanted:,.2f}"
        return self._finding(name, "failed", message, where)

    def _cases(self) -> Iterator[Finding]:
        said = {answer["case"]: answer["said"] for answer in self._answers if "case" in answer}
        for number, case in enumerate(self._copy.cases):
            title = _title(case)
            if number not in said:
                yield self._finding(f"case:{number + 1}", "not_run", f"{title}: not reached")
            elif said[number] is None:
                yield self._finding(f"case:{number + 1}", "passed", title)
            else:
                yield self._finding(f"case:{number + 1}", "failed", f"{title}: {shown(str(said[number]))}")


def _title(case: str) -> str:
    """A case in its own words: the comment before it, else its text."""
    comments = []
    for line in case.strip().split("\n"):
        if not line.strip().startswith("--"):
            break
        comments.append(line.strip().lstrip("- "))
    return shown(" ".join(comments) or case, 200)


def _readable(problem: str) -> str:
    """DuckDB's message, without what it says about our own way to run a draft."""
    if "attached in read-only mode" in problem:
        return "does not run: it changes the database, which is read-only"
    return f"does not run: {shown(problem, 300)}"
