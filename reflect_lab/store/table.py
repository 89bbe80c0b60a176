"""The result of a query: columns and rows, as a data frame or as plain text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from reflect_lab.documents.visible import visible_line

_UNKNOWN = "-"


@dataclass(frozen=True)
class Table:
    """`rows` hold plain values in the order of `columns`; None is SQL's NULL. `types` are DuckDB's names."""

    columns: tuple[str, ...]
    types: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """The rows as mappings from column to value."""
        for row in self.rows:
            yield dict(zip(self.columns, row, strict=True))

    def to_df(self) -> Any:
        """A pandas frame. Raises ImportError where pandas is not installed."""
        import pandas

        return pandas.DataFrame(list(self.rows), columns=list(self.columns))

    def text(self, width: int = 160, cell: int = 48) -> str:
        """The table in plain text, at most `width` characters wide and `cell` in each column."""
        grid = [list(self.columns), *([_shown(value, cell) for value in row] for row in self.rows)]
        if not self.columns:
            return ""
        widths = [max(len(row[i]) for row in grid) for i in range(len(self.columns))]
        is_number = [_is_numeric(kind) for kind in self.types]
        lines = [_line(row, widths, is_number) for row in grid]
        lines.insert(1, "  ".join("-" * size for size in widths))
        lines = [line if len(line) <= width else line[: width - 1] + "…" for line in lines]
        return "\n".join([*lines, f"({len(self.rows)} row{'' if len(self.rows) == 1 else 's'})"])

    def __str__(self) -> str:
        return self.text()

    __repr__ = __str__


def _shown(value: Any, limit: int) -> str:
    if value is None:
        return _UNKNOWN
    if isinstance(value, float):
        return f"{value:.4g}" if abs(value) < 1000 else f"{value:,.1f}"
    if isinstance(value, datetime):
        return value.isoformat(sep=" ", timespec="seconds")
    return visible_line(str(value), limit)


def _line(row: Sequence[str], widths: Sequence[int], is_number: Sequence[bool]) -> str:
    cells = zip(row, widths, is_number, strict=True)
    return "  ".join(cell.rjust(size) if right else cell.ljust(size) for cell, size, right in cells).rstrip()


def _is_numeric(kind: str) -> bool:
    return kind.split("(")[0] in {"BIGINT", "INTEGER", "HUGEINT", "DOUBLE", "FLOAT", "DECIMAL", "UBIGINT", "SMALLINT"}
