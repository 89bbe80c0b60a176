"""What servers refused, remembered per server and model: in memory and, in the user's cache folder, for later."""

from __future__ import annotations

import json
import logging
import os
import tempfile
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

FILE_NAME = "refused-params.json"
KEPT_DAYS = 30
MOST_ENTRIES = 500
_log = logging.getLogger(__name__)


def cache_folder(environ: Mapping[str, str]) -> Path:
    """The user's cache folder for this package: XDG's, else `~/.cache`."""
    base = environ.get("XDG_CACHE_HOME") or os.path.join(environ.get("HOME") or os.path.expanduser("~"), ".cache")
    return Path(base) / "reflect-lab"


def _today() -> date:
    return datetime.now(UTC).date()


class RefusedParams:
    """The parameters that a server's model refused. Forgotten after 30 days, since servers are updated.

    `file` None keeps them in memory only. A file that can't be read or written is logged and changes nothing else.
    """

    def __init__(self, file: Path | None = None, today: Callable[[], date] = _today) -> None:
        self._file = file
        self._today = today
        self._known: dict[tuple[str, str], set[str]] = {}
        for (server, model, name), _ in self._read().items():
            self._known.setdefault((server, model), set()).add(name)

    def of(self, server: str, model: str) -> frozenset[str]:
        """What `model` at `server` (its base URL) refused."""
        return frozenset(self._known.get((server, model), ()))

    def remember(self, server: str, model: str, names: frozenset[str], *, is_lasting: bool = True) -> None:
        """Add refused parameters; `is_lasting` False (a server on a passing port) keeps them in memory only."""
        if names <= self.of(server, model):
            return
        self._known.setdefault((server, model), set()).update(names)
        if self._file is None or not is_lasting:
            return
        today = self._today().isoformat()
        entries = self._read() | {(server, model, name): today for name in names}
        self._write(self._file, entries)

    def _read(self) -> dict[tuple[str, str, str], str]:
        if self._file is None or not self._file.exists():
            return {}
        oldest = (self._today() - timedelta(days=KEPT_DAYS)).isoformat()
        try:
            rows = json.loads(self._file.read_text(encoding="utf-8"))["refused"]
            return {(str(s), str(m), str(n)): str(day) for s, m, n, day in rows if str(day) >= oldest}
        except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
            _log.warning("can't read %s (%s); refused parameters are learnt anew", self._file, error)
            return {}

    def _write(self, file: Path, entries: Mapping[tuple[str, str, str], str]) -> None:
        newest = sorted(entries.items(), key=lambda item: item[1])[-MOST_ENTRIES:]
        text = json.dumps({"refused": [[*key, day] for key, day in newest]}, indent=1)
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile("w", dir=file.parent, delete=False, encoding="utf-8") as new:
                new.write(text)
            os.replace(new.name, file)
        except OSError as error:
            _log.warning("can't write %s (%s); refused parameters are known to this process only", file, error)
