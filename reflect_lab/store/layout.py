"""Where traces live.

```
traces/
  log/<UTC date>-<host>-<pid>-<random>.jsonl     event log, one file per process: the truth
  spans/<UTC date>-<host>-<pid>-<random>.jsonl   ended spans as OTLP/JSON lines
  reflect.duckdb                                 the index: can be deleted and rebuilt at any time
```
"""

from __future__ import annotations

import os
import re
import secrets
import socket
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from reflect_lab.documents.project import project_root

LOG_FOLDER: Literal["log"] = "log"
SPANS_FOLDER: Literal["spans"] = "spans"
INDEX_FILE = "reflect.duckdb"
ENVIRONMENT_NAME = "REFLECT_TRACES"


def traces_folder(explicit: str | Path | None, environ: Mapping[str, str], cwd: Path) -> Path:
    """The folder of traces: `explicit`, else `REFLECT_TRACES`, else `traces/` of the nearest project, else of `cwd`.

    Relative paths are taken from `cwd`. The folder need not exist yet.
    """
    named = explicit if explicit not in (None, "") else environ.get(ENVIRONMENT_NAME)
    if named:
        return (cwd / os.path.expanduser(named)).resolve()
    return ((project_root(cwd) or cwd) / "traces").resolve()


def process_file(folder: Path, kind: Literal["log", "spans"], now: datetime | None = None) -> Path:
    """A new file's path for this process: no two calls give the same one. Nothing is created."""
    day = (now or datetime.now(UTC)).strftime("%Y-%m-%d")
    host = re.sub(r"[^A-Za-z0-9_.]+", "_", socket.gethostname())[:40] or "host"
    return folder / kind / f"{day}-{host}-{os.getpid()}-{secrets.token_hex(4)}.jsonl"
