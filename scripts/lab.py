"""Opens JupyterLab on the first notebook. Arguments go to JupyterLab. `make lab` runs it."""

from __future__ import annotations

import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FIRST_NOTEBOOK = "notebooks/01-first-run.ipynb"


def main(arguments: list[str]) -> None:
    # Kernels and `!` lines find `reflect-lab`; sys.executable is not resolved, or it would point out of the venv.
    os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    os.chdir(ROOT)
    options = [
        f"--ServerApp.root_dir={ROOT}",
        f"--LabApp.default_url=/lab/tree/{FIRST_NOTEBOOK}",
        "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
    ]
    if os.geteuid() == 0 and "--allow-root" not in arguments:
        options.append("--allow-root")
    os.execv(sys.executable, [sys.executable, "-m", "jupyterlab", *options, *arguments])


if __name__ == "__main__":
    main(sys.argv[1:])
