"""A browser for this folder's tests, and pages in it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.browser_finder import find_browser
from tests.frontend.viewer import ARGUMENTS, STATIC, Viewer
from tests.required import missing


@pytest.fixture(scope="package")
def browser() -> Iterator[Any]:
    path = find_browser()
    if path is None:
        missing("browser", "no Chromium or Chrome was found")
    if not (STATIC / "widget.js").exists():
        missing("browser", "the view is not built: npm run build:prod in labextension/")
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=path, args=ARGUMENTS)
        yield opened
        opened.close()


@pytest.fixture
def open_viewer(browser: Any) -> Iterator[Any]:
    viewers: list[Viewer] = []

    def opened(theme: str = "light", width: int = 1100, **options: Any) -> Viewer:
        viewers.append(Viewer(browser, theme, width, **options))
        return viewers[-1]

    yield opened
    for viewer in viewers:
        viewer.page.close()
        assert viewer.errors == []
