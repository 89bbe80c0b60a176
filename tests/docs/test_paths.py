"""Files and folders that the pages and the package's docstrings name are there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")])
BUILT = ("reflect_lab/labextension/", "reflect_lab/static/")
"""What the set-up makes."""
_TOP = "reflect_lab|tests|docs|scripts|notebooks|benchmarks|labextension|evidence"
_PATH = re.compile(rf"(?<![\w/.-])(?:{_TOP})/[\w./-]*\w/?")


def named(text: str) -> set[str]:
    """Paths from the root (`evidence/…` from the package) that stand in a text."""
    return {path for path in _PATH.findall(text) if not path.startswith(BUILT)}


def is_there(path: str) -> bool:
    return (ROOT / path).exists() or (ROOT / "reflect_lab" / path).exists()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_what_a_page_names_is_there(page: Path) -> None:
    assert sorted(path for path in named(page.read_text("utf-8")) if not is_there(path)) == []


def test_what_the_package_names_is_there() -> None:
    found = {path for file in (ROOT / "reflect_lab").rglob("*.py") for path in named(file.read_text("utf-8"))}
    assert "docs/sandbox.md" in found
    assert sorted(path for path in found if not is_there(path)) == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    prose = re.sub(r"^(`{3,}).*?^\1$|`[^`\n]*`", "", page.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)
    links = re.findall(r"\]\((?!https?:|#)([^)#\s]+)", prose)
    assert [link for link in links if not (page.parent / link).exists()] == []


def test_the_readme_leads_to_every_page() -> None:
    """The mutation report and the tables of the index are for those who look for them elsewhere."""
    linked = re.findall(r"\]\(docs/([\w-]+\.md)\)", (ROOT / "README.md").read_text("utf-8"))
    pages = {page.name for page in (ROOT / "docs").glob("*.md")}
    assert pages - set(linked) == {"mutants.md", "relations.md"}
