"""Writes constraints.txt: the newest releases that pyproject.toml allows, resolved together in an empty environment.

Run it with the oldest Python that set-up has to work with: some releases refuse the first ones of the 3.11 series.
"""

from __future__ import annotations

import platform
import subprocess
import sys
import tempfile
from pathlib import Path

from set_up import ROOT, all_requirements

HEADER = """\
# What set-up and CI install, resolved together with Python {python} by `make pins`.
# Ranges, for people who depend on this package, are in pyproject.toml.
"""


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        python = Path(folder) / "bin" / "python"
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", *all_requirements()], check=True)
        frozen = subprocess.run([python, "-m", "pip", "freeze"], check=True, capture_output=True, text=True).stdout
    (ROOT / "constraints.txt").write_text(HEADER.format(python=platform.python_version()) + frozen)


if __name__ == "__main__":
    main()
