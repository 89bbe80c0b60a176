"""What DuckDB's plan of a query says: tables that are read without a filter, and joins that multiply rows."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from reflect_lab.evidence.sql.options import Filter

_SPLITS = ("INNER", "LEFT", "RIGHT", "FULL", "OUTER")
_HELPS_ONLY = re.compile(r"\"?(min|max)\"?\(")
_INSENSITIVE = re.compile(r"\s*\"?(min|max|first|any_value|bool_and|bool_or)\"?\(|.*\bDISTINCT\b", re.IGNORECASE)
_LITERAL = re.compile(r"'(?:[^']|'')*(?:'|\Z)")
_PIECE = re.compile(r'"(?:[^"]|"")*(?:"|\Z)|\w+|[^\s\w]')
_NOT_NULL = ["is", "not", "null"]


@dataclass(frozen=True, kw_only=True)
class Step:
    """A step of a plan. `rows` is how many came out of it, None where the query was only planned."""

    name: str
    rows: int | None
    info: Mapping[str, str]
    inputs: tuple[Step, ...] = ()

    @property
    def table(self) -> str | None:
        """The table that this step reads, without schema."""
        return self.info["Table"].rpartition(".")[2].strip('"') if "Table" in self.info else None

    @property
    def is_join(self) -> bool:
        is_plain = self.name.endswith("_JOIN") and "DELIM" not in self.name
        return (is_plain or self.name == "CROSS_PRODUCT") and len(self.inputs) == 2

    @property
    def tables(self) -> tuple[str, ...]:
        """All tables read below and at this step, each once."""
        return tuple(dict.fromkeys(step.table for step in walk(self) if step.table is not None))


@dataclass(frozen=True, kw_only=True)
class Multiplied:
    """A join after which `before` rows are `after`: `table` holds several rows for one of the other side. `is_summed`
    says whether an aggregate that counts each row is made of them."""

    table: str
    before: int
    after: int
    is_summed: bool

    @property
    def times(self) -> float:
        return self.after / self.before


def read_plan(text: str) -> Step | None:
    """The plan that EXPLAIN (FORMAT JSON) gave, with or without ANALYZE; None where it can't be read."""
    try:
        plan = json.loads(text)
        if isinstance(plan, dict):  # analysed: DuckDB 2 has the steps under `operator`, DuckDB 1 is a step itself
            plan = plan.get("operator") or [plan]
        return _step(plan[0])
    except (ValueError, RecursionError, KeyError, IndexError, TypeError, AttributeError):
        return None


def _step(node: Mapping[str, object]) -> Step:
    info = node.get("extra_info")
    rows = node.get("intermediate_rows", node.get("operator_cardinality"))
    inputs = node.get("children")
    return Step(
        name=str(node.get("name") or node.get("operator_name") or "").strip(),
        rows=rows if isinstance(rows, int) else None,
        info={key: _text(value) for key, value in info.items()} if isinstance(info, dict) else {},
        inputs=tuple(_step(child) for child in inputs) if isinstance(inputs, list) else (),
    )


def _text(value: object) -> str:
    return "; ".join(map(str, value)) if isinstance(value, list) else str(value)


def walk(step: Step) -> Iterator[Step]:
    """The step and all below it."""
    yield step
    for child in step.inputs:
        yield from walk(child)


# Filters.


@dataclass
class Reading:
    """One reading of a table: what became of its rows on the way up."""

    rows: int | None
    is_helper: bool = False
    narrowed_to: int | None = None
    has_filter: bool = False

    def narrow(self, rows: int | None) -> None:
        self.has_filter = True
        self.narrowed_to = rows


def unfiltered(plan: Step, wanted: Filter, rows: int) -> Reading | None:
    """The first reading of the table that nothing narrows, or whose filter lets all its `rows` through; else None.

    Readings only for a smallest or greatest value (the last day of the data, say) do not count.
    """
    for path in _paths(plan, ()):
        scan = path[-1]
        if scan.table is None or scan.table.casefold() != wanted.table.casefold():
            continue
        reading = Reading(rows=scan.rows)
        _follow(plan, path, wanted, reading)
        lets_all_through = reading.narrowed_to is not None and rows > 0 and reading.narrowed_to >= rows
        if not reading.is_helper and (not reading.has_filter or lets_all_through):
            return reading
    return None


def _paths(step: Step, above: tuple[Step, ...]) -> Iterator[tuple[Step, ...]]:
    path = (*above, step)
    if not step.inputs:
        yield path
    for child in step.inputs:
        yield from _paths(child, path)


def _follow(plan: Step, path: Sequence[Step], wanted: Filter, reading: Reading) -> None:
    """Follows a table's rows upwards until they are grouped, cut or collected."""
    below = path[-1]
    if _is_filter(below.info.get("Filters", ""), wanted.column):
        reading.narrow(below.rows)
    for step in reversed(path[:-1]):
        if step.name == "FILTER":
            if _is_filter(step.info.get("Expression", ""), wanted.column):
                reading.narrow(step.rows)
        elif step.is_join or "DELIM_JOIN" in step.name:
            if step.is_join and _narrows(step, below, wanted.column):
                reading.narrow(step.rows)
        elif step.name == "CTE":
            _follow_cte(plan, step, wanted, reading)
            return
        elif step.name != "PROJECTION":
            aggregates = step.info.get("Aggregates", "").split("; ")
            reading.is_helper = step.name == "UNGROUPED_AGGREGATE" and all(map(_HELPS_ONLY.match, aggregates))
            return
        below = step


def _follow_cte(plan: Step, cte: Step, wanted: Filter, reading: Reading) -> None:
    """Rows of a common table expression are narrowed where every use of it narrows them."""
    index = cte.info.get("Table Index")
    scans = (path for path in _paths(plan, ()) if path[-1].name == "CTE_SCAN")
    uses = [path for path in scans if path[-1].info.get("CTE Index") == index]
    if reading.has_filter or not uses:
        return
    found = [Reading(rows=path[-1].rows) for path in uses]
    for path, use in zip(uses, found, strict=True):
        _follow(plan, path, wanted, use)
    if all(use.has_filter or use.is_helper for use in found):
        reading.narrow(max((use.narrowed_to or 0 for use in found), default=0))


def _is_filter(condition: str, column: str | None) -> bool:
    """Whether a condition narrows by this column; `#3` stands for some column of the step below."""
    rest = _without_not_null(_pieces(condition))  # a join adds these by itself
    if not any((piece[0].isalnum() or piece[0] in '_"') and piece not in ("and", "optional") for piece in rest):
        return False
    is_of_below = any(one == "#" and other.isdigit() for one, other in pairwise(rest))
    return column is None or _is_among(rest, column) or is_of_below


def _narrows(join: Step, below: Step, column: str | None) -> bool:
    """Whether a join keeps some of the rows only, by a comparison of this column."""
    condition = join.info.get("Conditions", "")
    if column is not None and not _mentions(condition, column):
        return False
    if join.rows is None or below.rows is None:
        return re.search(r"[<>]", condition) is not None
    return join.rows < below.rows


def _mentions(text: str, column: str) -> bool:
    return _is_among(_pieces(text), column)


def _is_among(pieces: Sequence[str], column: str) -> bool:
    """Whether a column is named; a function of its name is not the column, and neither is a literal."""
    names = (column.casefold(), f'"{column.casefold()}"')
    return any(one in names and other != "(" for one, other in zip(pieces, [*pieces[1:], ""], strict=True))


def _pieces(condition: str) -> list[str]:
    """Names, words and signs in small letters, without literals. In one pass: a draft can make a condition long."""
    return _PIECE.findall(_LITERAL.sub(" 0 ", condition).casefold())


def _without_not_null(pieces: Sequence[str]) -> list[str]:
    """Without each `NAME IS NOT NULL`."""
    kept: list[str] = []
    skipped = 0
    for place, piece in enumerate(pieces):
        if skipped:
            skipped -= 1
        elif piece == "is" and list(pieces[place : place + 3]) == _NOT_NULL:
            skipped = 2
            if kept:
                kept.pop()
            while len(kept) > 1 and kept[-1] == ".":
                del kept[-2:]
        else:
            kept.append(piece)
    return kept


# Joins.


@dataclass
class _Joins:
    grain: str | None
    found: dict[str, Multiplied] = field(default_factory=dict)

    def look(self, step: Step, is_summed: bool) -> None:
        aggregates = step.info.get("Aggregates")
        if aggregates is not None or step.name == "WINDOW":
            each = _LITERAL.sub("''", aggregates or "").split("; ")
            counts = [part for part in each if part and not _INSENSITIVE.match(part)]
            # A group without aggregates is a DISTINCT: what was multiplied below it is gone.
            is_summed = bool(counts) or step.name == "WINDOW"
        if step.is_join:
            multiplied = self._join(step, is_summed)
            if multiplied is not None:
                known = self.found.get(multiplied.table)
                if known is None or (multiplied.is_summed, multiplied.times) > (known.is_summed, known.times):
                    self.found[multiplied.table] = multiplied
        is_test = step.name.endswith("JOIN") and step.info.get("Join Type", "INNER") not in _SPLITS
        for number, child in enumerate(step.inputs):
            self.look(child, is_summed and not (is_test and number == 1))

    def _join(self, join: Step, is_summed: bool) -> Multiplied | None:
        kind = "INNER" if join.name == "CROSS_PRODUCT" else join.info.get("Join Type", "INNER")
        left, right = join.inputs
        if kind not in _SPLITS or join.rows is None or left.rows is None or right.rows is None:
            return None
        many, few = (left, right) if left.rows >= right.rows else (right, left)
        if self.grain is not None:
            sides = [self.grain.casefold() in map(str.casefold, side.tables) for side in (left, right)]
            if not any(sides):
                return None
            many, few = (left, right) if sides[0] else (right, left)
            kept = left.rows + right.rows if kind in ("FULL", "OUTER") else many.rows or 0
        else:
            # One side's rows at most where the other side's key is unique; an outer join adds those without a match.
            kept = max(left.rows, right.rows) if kind == "INNER" else left.rows + right.rows
        if not many.rows or not few.tables or join.rows <= kept:
            return None
        return Multiplied(table=few.tables[0], before=many.rows, after=join.rows, is_summed=is_summed)


def multiplying_joins(plan: Step, grain: str | None) -> tuple[Multiplied, ...]:
    """Joins that multiply rows, by the table that does it: each with the rows before and after.

    With a `grain`, joins after which a row of that table stands more than once; without one, joins of which neither
    side's key is unique (many to many), which the row counts prove.
    """
    joins = _Joins(grain)
    joins.look(plan, False)
    return tuple(joins.found.values())
