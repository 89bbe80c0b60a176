"""What plans say, those of both DuckDB generations, read from the JSON of EXPLAIN."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from reflect_lab.evidence.sql.options import Filter
from reflect_lab.evidence.sql.plan import Step, multiplying_joins, read_plan, unfiltered


def step(name: str, rows: int, *children: dict[str, Any], **info: str) -> dict[str, Any]:
    named = {key.replace("_", " "): value for key, value in info.items()}
    return {"name": name, "intermediate_rows": rows, "extra_info": named, "children": list(children)}


def older(node: dict[str, Any]) -> dict[str, Any]:
    """The same step as DuckDB 1 writes it."""
    return {
        "operator_name": f"{node['name']} ",
        "operator_cardinality": node["intermediate_rows"],
        "extra_info": node["extra_info"],
        "children": [older(child) for child in node["children"]],
    }


def plan(node: dict[str, Any]) -> Step:
    read = read_plan(json.dumps({"operator": [node]}))
    assert read is not None and read == read_plan(json.dumps({"children": [older(node)]})).inputs[0]  # type: ignore[union-attr]
    return read


def scan(table: str, rows: int, **info: str) -> dict[str, Any]:
    return step("SEQ_SCAN", rows, Table=f"copy.main.{table}", **info)


def summed(child: dict[str, Any]) -> dict[str, Any]:
    return step("UNGROUPED_AGGREGATE", 1, child, Aggregates="sum(#0)")


def join(
    rows: int, left: dict[str, Any], right: dict[str, Any], kind: str = "INNER", on: str = "a = b"
) -> dict[str, Any]:
    return step("HASH_JOIN", rows, left, right, Join_Type=kind, Conditions=on)


DAY = Filter(table="orders", column="day")


@pytest.mark.parametrize(
    "node",
    [
        scan("orders", 7, Filters="(day >= '2026-06-24'::DATE)"),
        step("FILTER", 7, scan("orders", 100), Expression="(date_trunc('week', day) > 3)"),
        join(7, scan("orders", 100), step("UNGROUPED_AGGREGATE", 1), on="day >= SUBQUERY"),
        join(7, scan("orders", 100), scan("days", 7), on="day = day"),
        join(0, scan("orders", 0, Filters="day > 3"), scan("days", 7)),
    ],
)
def test_a_table_that_something_narrows_by_the_column_is_no_full_scan(node: dict[str, Any]) -> None:
    assert unfiltered(plan(summed(node)), DAY, 100) is None


@pytest.mark.parametrize(
    "node",
    [
        scan("orders", 100),
        scan("orders", 100, Filters=""),
        scan("orders", 100, Filters="(day IS NOT NULL)"),
        scan("orders", 7, Filters="(amount > 3)"),
        scan("orders", 100, Filters="(day >= '1900-01-01'::DATE)"),
        join(100, scan("orders", 100), scan("days", 91), on="day = day"),
        step("FILTER", 7, summed(scan("orders", 100)), Expression="(day > 3)"),
    ],
)
def test_a_table_that_nothing_narrows_by_the_column_is_a_full_scan(node: dict[str, Any]) -> None:
    assert unfiltered(plan(summed(node)), DAY, 100) is not None


def test_a_common_table_expression_is_narrowed_where_each_use_narrows_it() -> None:
    def used(*filters: str) -> Step:
        uses = [step("FILTER", 7, step("CTE_SCAN", 100, CTE_Index="3"), Expression=text) for text in filters]
        return plan(step("CTE", 1, scan("orders", 100), join(1, summed(uses[0]), summed(uses[1])), Table_Index="3"))

    assert unfiltered(used("(day > 3)", "(day > 5)"), DAY, 100) is None
    assert unfiltered(used("(day > 3)", "(amount > 5)"), DAY, 100) is not None


def test_the_last_day_of_the_data_may_be_looked_up() -> None:
    last = step("UNGROUPED_AGGREGATE", 1, scan("orders", 100), Aggregates="max(#0)")
    assert unfiltered(plan(join(7, scan("orders", 100), last, on="day >= SUBQUERY")), DAY, 100) is None


@pytest.mark.parametrize(
    ("node", "expected"),
    [
        (join(300, scan("orders", 100), scan("rates", 9)), [("rates", 100, 300)]),
        (join(300, scan("rates", 9), scan("orders", 100)), [("rates", 100, 300)]),
        (join(300, scan("orders", 100), scan("rates", 9), kind="LEFT"), [("rates", 100, 300)]),
        (step("CROSS_PRODUCT", 900, scan("orders", 100), scan("rates", 9)), [("rates", 100, 900)]),
        (join(100, scan("orders", 100), scan("customers", 9)), []),
        (join(109, scan("orders", 100), scan("customers", 10), kind="LEFT"), []),
        (join(100, scan("orders", 100), scan("rates", 9), kind="SEMI"), []),
        (join(0, scan("orders", 0), scan("rates", 9)), []),
    ],
)
def test_many_to_many_is_told_by_row_counts(node: dict[str, Any], expected: list[tuple[str, int, int]]) -> None:
    found = multiplying_joins(plan(summed(node)), None)
    assert [(m.table, m.before, m.after) for m in found] == expected and all(m.is_summed for m in found)


def test_rows_below_a_distinct_or_in_a_test_of_existence_multiply_nothing_that_is_summed() -> None:
    multiplied = join(300, scan("orders", 100), scan("rates", 9))
    distinct = step("HASH_GROUP_BY", 50, multiplied, Aggregates="")
    greatest = step("UNGROUPED_AGGREGATE", 1, multiplied, Aggregates="max(#0); count(DISTINCT #1)")
    exists = join(50, scan("customers", 50), multiplied, kind="SEMI")
    for node in (distinct, greatest, exists):
        assert [m.is_summed for m in multiplying_joins(plan(summed(node)), None)] == [False]


def test_a_grain_counts_once_whatever_it_is_joined_with() -> None:
    node = join(100, scan("customers", 10), scan("orders", 100))
    assert multiplying_joins(plan(summed(node)), None) == ()
    (found,) = multiplying_joins(plan(summed(node)), "customers")
    assert (found.table, found.times) == ("orders", 10.0)
    assert multiplying_joins(plan(summed(node)), "orders") == ()


@pytest.mark.parametrize("text", ["", "{}", "[]", "nothing", "[1]", '{"operator": 3}', "[" * 5_000])
def test_a_plan_that_can_t_be_read_is_none_or_holds_nothing(text: str) -> None:
    read = read_plan(text)
    assert read is None or (read.table is None and not read.inputs)


def test_a_long_condition_is_read_in_one_pass() -> None:
    begin = time.process_time()
    for condition in ("a" * 60_000, "a." * 30_000, '"' * 60_000, "'" * 60_001):
        plan = read_plan(json.dumps([scan("orders", 100, Filters=condition)]))
        assert plan is not None
        unfiltered(plan, Filter(table="orders", column="day"), 100)
    assert time.process_time() - begin < 2
