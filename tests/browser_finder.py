"""Finds the browser that the browser tests drive. Run as a script it prints the path, or exits with 1."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def find_browser() -> str | None:
    """The path of a Chromium or Chrome that starts: the one in `REFLECT_LAB_BROWSER`, else an installed one, else the
    one that Playwright fetched; None where there is none."""
    return next((path for path in _candidates() if _starts(path)), None)


def _candidates() -> Iterator[str]:
    if named := os.environ.get("REFLECT_LAB_BROWSER"):
        yield named
        return
    yield from (path for name in NAMES if (path := shutil.which(name)))
    cache = os.environ.get("PLAYWRIGHT_BROWSERS_PATH") or Path.home() / ".cache" / "ms-playwright"
    yield from (str(path) for path in sorted(Path(cache).glob("chromium-*/chrome-linux*/chrome"), reverse=True))


def _starts(path: str) -> bool:
    # A name alone proves nothing: on some systems it is a stub that asks to install another package.
    try:
        return subprocess.run([path, "--version"], capture_output=True, timeout=30, check=False).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


if __name__ == "__main__":
    browser = find_browser()
    print(browser or "no Chromium or Chrome found", file=sys.stdout if browser else sys.stderr)
    sys.exit(0 if browser else 1)
