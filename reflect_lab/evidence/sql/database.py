"""The small copy of the user's database, as the check holds it."""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from reflect_lab.core.errors import ReflectLabError, WrongUse
from reflect_lab.evidence.sandbox.surroundings import environment
from reflect_lab.evidence.sql import copy as sql_copy
from reflect_lab.evidence.sql.options import SqlOptions
from reflect_lab.evidence.wording import shown

_COPY_S = 60.0
_MOST_BYTES = 32 << 20


@dataclass(frozen=True, kw_only=True)
class Copy:
    """The copy's file (compressed, base64), for each table its rows, those copied and its columns, what the totals must
    be, and the check block's statements."""

    data: str
    rows: Mapping[str, int]
    copied: Mapping[str, int]
    columns: Mapping[str, Sequence[str]]
    references: Mapping[str, float]
    cases: tuple[str, ...]

    @property
    def sampled(self) -> tuple[str, ...]:
        """Tables of which only some rows were copied."""
        return tuple(name for name, rows in self.rows.items() if self.copied[name] < rows)

    def table(self, name: str) -> str | None:
        """A table's name as the database has it."""
        return next((known for known in self.rows if known.casefold() == name.casefold()), None)


def copied(options: SqlOptions, check: str, folder: Path) -> Copy:
    """Makes the copy in a process of its own; file names are relative to `folder`. Reference queries see all rows.

    Raises WrongUse where the database, the set-up or a query of the user can't be used.
    """
    with tempfile.TemporaryDirectory(prefix="reflect-lab-") as home:
        copy = Path(home) / "copy.duckdb"
        file, script = _database(options.database, check, folder)
        job = {
            "database": file,
            "tables": options.tables,
            "setup": f"{script}\n{options.setup}",
            "sample": options.sample,
            "references": {c: query for c, query in options.totals.items() if isinstance(query, str)},
            "code": options.code,
            "copy": str(copy),
        }
        answer = _made(job, check, folder, home)
        data = copy.read_bytes()
    if len(data) > _MOST_BYTES:
        size = f"{len(data) >> 20} MiB, over {_MOST_BYTES >> 20}"
        raise WrongUse(f"check {check}: the copy of the database takes {size}; a smaller `sample` (rows of each table)")
    numbers = {column: wanted for column, wanted in options.totals.items() if not isinstance(wanted, str)}
    return Copy(
        data=base64.b64encode(zlib.compress(data, 1)).decode(),
        rows={name: rows for name, (rows, _) in answer["tables"].items()},
        columns=answer["columns"],
        copied={name: kept for name, (_, kept) in answer["tables"].items()},
        references={**numbers, **answer["references"]},
        cases=tuple(answer["cases"]),
    )


def _database(name: str | None, check: str, folder: Path) -> tuple[str | None, str]:
    """The database's file, or the text of the script (`.sql`) that makes it."""
    if name is None:
        return None, ""
    file = folder / Path(name).expanduser()
    if not file.is_file():
        raise WrongUse(f"check {check}: there is no database {shown(str(file))}")
    if file.suffix != ".sql":
        return os.path.abspath(file), ""
    try:
        return None, file.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise WrongUse(f"check {check}: the script {shown(str(file))} can't be read: {error}") from None


def _made(job: Mapping[str, object], check: str, folder: Path, home: str) -> sql_copy.Job:
    try:
        done = subprocess.run(
            [sys.executable, "-s", "-P", sql_copy.__file__],
            input=json.dumps(job).encode(),
            capture_output=True,
            cwd=folder,
            env=environment(home, "copy"),
            timeout=_COPY_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise WrongUse(f"check {check}: the database could not be copied within {_COPY_S:g} s") from None
    except OSError as error:
        raise WrongUse(f"check {check}: the folder {shown(str(folder))} can't be used: {error.strerror}") from None
    try:
        answer: sql_copy.Job = json.loads(done.stdout)
    except ValueError:
        last = done.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2]
        raise ReflectLabError(f"check {check}: the copy of the database failed: {shown(last)}") from None
    if "problem" in answer:
        raise WrongUse(f"check {check}: the database can't be used: {shown(str(answer['problem']), 400)}")
    return answer
