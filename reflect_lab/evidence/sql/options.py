"""The options of the `sql` check, read strictly."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass

from reflect_lab.core.task import CheckSpec
from reflect_lab.documents.suggest import shown
from reflect_lab.evidence.check import Options

KEYS = (
    "database", "tables", "setup", "sample", "filter", "grain", "totals", "tolerance", "max_rows", "code", "timeout_s",
)  # fmt: skip
MOST_ROWS = 10_000
SAMPLE = 100_000

_NAME = re.compile(r"[^\W\d]\w*")


@dataclass(frozen=True, kw_only=True)
class Filter:
    """A table that the query must not read as a whole, and the column by which it is to be narrowed (None: any)."""

    table: str
    column: str | None = None


@dataclass(frozen=True, kw_only=True)
class SqlOptions:
    """What the check looks at. `max_rows` is None where the user gave no number: then `MOST_ROWS` are read."""

    database: str | None
    tables: Mapping[str, str]
    setup: str
    sample: int
    filters: tuple[Filter, ...]
    grain: str | None
    totals: Mapping[str, str | float]
    tolerance: float
    max_rows: int | None
    code: str
    timeout_s: float


def read_options(spec: CheckSpec) -> SqlOptions:
    """The options of a check's spec. Raises WrongUse, which names the check and the option."""
    options = Options(spec, KEYS)
    read = SqlOptions(
        database=options.text("database", "") or None,
        tables=_tables(options, spec.options.get("tables", {})),
        setup=options.text("setup", ""),
        sample=options.count("sample") or SAMPLE,
        filters=tuple(_filter(options, text) for text in options.texts("filter")),
        grain=_name(options, options.text("grain")) if "grain" in spec.options else None,
        totals=_totals(options, spec.options.get("totals", {})),
        tolerance=_tolerance(options, spec.options.get("tolerance", 0.001)),
        max_rows=options.count("max_rows"),
        code=options.text("code", ""),
        timeout_s=options.seconds("timeout_s", 10.0),
    )
    if not (read.database or read.tables or read.setup.strip()):
        raise options.wrong("there is no database; name one (`database: FILE`), or files (`tables: {NAME: FILE}`), or "
                            "write a ```sql setup block that makes tables")  # fmt: skip
    return read


def _tables(options: Options, value: object) -> dict[str, str]:
    if not isinstance(value, Mapping) or not all(isinstance(file, str) and file for file in value.values()):
        raise options.wrong(f"tables must be `NAME: FILE` lines, not {shown(value)}")
    return {_name(options, name): str(file) for name, file in value.items()}


def _filter(options: Options, text: str) -> Filter:
    table, separator, column = text.rpartition(".")
    if not separator:
        return Filter(table=_name(options, text))
    return Filter(table=_name(options, table), column=_name(options, column))


def _totals(options: Options, value: object) -> dict[str, str | float]:
    if not isinstance(value, Mapping):
        raise options.wrong(f"totals must be `COLUMN: QUERY` or `COLUMN: NUMBER` lines, not {shown(value)}")
    for column, wanted in value.items():
        is_number = isinstance(wanted, int | float) and not isinstance(wanted, bool) and math.isfinite(wanted)
        if not isinstance(column, str) or not (is_number or (isinstance(wanted, str) and wanted.strip())):
            raise options.wrong(f"the total of {shown(column)} must be a number or a query, not {shown(wanted)}")
    return {str(column): wanted if isinstance(wanted, str) else float(wanted) for column, wanted in value.items()}


def _tolerance(options: Options, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1:
        raise options.wrong(f"tolerance must be a share from 0 up to 1 (0.01 is one percent), not {shown(value)}")
    return float(value)


def _name(options: Options, value: object) -> str:
    if not isinstance(value, str) or not _NAME.fullmatch(value):
        raise options.wrong(f"{shown(value)} can't be the name of a table or column")
    return value
