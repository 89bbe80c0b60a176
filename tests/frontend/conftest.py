"""Pages in the browser."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.frontend.viewer import STATIC, Viewer
from tests.required import missing


@pytest.fixture
def open_viewer(browser: Any) -> Iterator[Any]:
    if not (STATIC / "widget.js").exists():
        missing("browser", "the view is not built: npm run build:prod in labextension/")
    viewers: list[Viewer] = []

    def opened(theme: str = "light", width: int = 1100, **options: Any) -> Viewer:
        viewers.append(Viewer(browser, theme, width, **options))
        return viewers[-1]

    yield opened
    for viewer in viewers:
        viewer.page.close()
        assert viewer.errors == []
