"""Clauses of a query by the names in them."""

from __future__ import annotations

import time

import pytest

from reflect_lab.evidence.sql.clauses import clause_of

QUERY = """WITH recent AS (SELECT * FROM orders WHERE note = 'from rates')
SELECT c.name, sum(amount) AS revenue -- FROM rates
FROM recent AS o
LEFT OUTER JOIN "rates" r ON r.currency = o.currency, countries c
WHERE c.id = 1
GROUP BY ALL LIMIT 5"""


@pytest.mark.parametrize(
    ("name", "keywords", "clause"),
    [
        ("orders", ("from", "join"), "FROM orders"),
        ("rates", ("join", "from"), 'LEFT OUTER JOIN "rates" r ON r.currency = o.currency, countries c'),
        ("Recent", ("from",), "FROM recent AS o"),
        ("revenue", ("select",), "SELECT c.name, sum(amount) AS revenue -- FROM rates"),
    ],
)
def test_the_clause_that_holds_a_name_stands_in_the_query(name: str, keywords: tuple[str, ...], clause: str) -> None:
    location = clause_of(QUERY, name, *keywords)
    assert (location.kind, location.value) == ("clause", clause)
    assert clause in QUERY


@pytest.mark.parametrize(
    ("query", "clause"),
    [
        ("SELECT 1 FROM orders JOIN rates USING (currency)", "JOIN rates USING (currency)"),
        ("SELECT 1 FROM orders JOIN rates USING (currency);", "JOIN rates USING (currency)"),
        ("SELECT 1 FROM (SELECT * FROM orders JOIN rates USING (currency)) t", "JOIN rates USING (currency)"),
        ("WITH r AS (SELECT * FROM rates ) SELECT 1 FROM r", "FROM rates"),
        ("SELECT * FROM f(g(rates)) WHERE x", "FROM f(g(rates))"),
        ("SELECT * FROM rates r /* :) */ , t -- )\n WHERE x", "FROM rates r /* :) */ , t -- )"),
    ],
)
def test_a_clause_keeps_its_own_brackets_and_no_others(query: str, clause: str) -> None:
    assert clause_of(query, "rates", "join", "from").value == clause


@pytest.mark.parametrize("query", ["", "SELECT 1", "SELECT 'orders'", "-- FROM orders", 'FROM "or', "FROM 'or", "/*"])
def test_a_name_that_stands_in_no_clause_is_located_at_the_whole(query: str) -> None:
    assert clause_of(query, "orders", "from", "join").kind == "whole"


@pytest.mark.parametrize("piece", ["'", '"', "/*", "--", "FROM orders ", "(", "''"])
def test_megabytes_of_anything_are_read_at_once(piece: str) -> None:
    start = time.monotonic()
    clause_of(piece * (1_000_000 // len(piece)), "nothing", "from")
    assert time.monotonic() - start < 10
