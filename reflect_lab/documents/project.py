"""Where a project begins: the folder that holds its settings and its traces."""

from __future__ import annotations

from pathlib import Path

SETTINGS_FILE = "reflect-lab.toml"
ROOT_MARKS = (SETTINGS_FILE, "pyproject.toml", ".git")


def project_root(folder: Path) -> Path | None:
    """The nearest folder, from `folder` upwards, that holds `reflect-lab.toml`, `pyproject.toml` or `.git`."""
    here = folder.resolve()
    for place in (here, *here.parents):
        if any((place / mark).exists() for mark in ROOT_MARKS):
            return place
    return None
