"""Which browser the browser tests take."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.browser_finder import find_browser


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine without any browser: `bin/` is its PATH, `ms/` the place of Playwright's browsers."""
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setenv("PLAYWRIGHT_BROWSERS_PATH", str(tmp_path / "ms"))
    monkeypatch.delenv("REFLECT_LAB_BROWSER", raising=False)
    return tmp_path


def put(path: Path, exit_code: int = 0) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\nexit {exit_code}\n")
    path.chmod(0o755)
    return str(path)


def test_none_is_found_where_there_is_none(machine: Path) -> None:
    assert find_browser() is None


def test_an_installed_chromium_comes_before_chrome_and_before_playwrights(machine: Path) -> None:
    put(machine / "ms" / "chromium-1" / "chrome-linux" / "chrome")
    put(machine / "bin" / "google-chrome")
    chromium = put(machine / "bin" / "chromium")
    assert find_browser() == chromium


def test_a_stub_that_does_not_start_is_passed_over(machine: Path) -> None:
    put(machine / "bin" / "chromium-browser", exit_code=1)
    chrome = put(machine / "bin" / "google-chrome")
    assert find_browser() == chrome


def test_playwrights_browser_is_the_last_resort(machine: Path) -> None:
    fetched = put(machine / "ms" / "chromium-1200" / "chrome-linux64" / "chrome")
    assert find_browser() == fetched


def test_the_one_that_the_user_names_is_taken_or_none(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(machine / "bin" / "chromium")
    mine = put(machine / "mine" / "browser")
    monkeypatch.setenv("REFLECT_LAB_BROWSER", mine)
    assert find_browser() == mine
    monkeypatch.setenv("REFLECT_LAB_BROWSER", str(machine / "nowhere"))
    assert find_browser() is None
