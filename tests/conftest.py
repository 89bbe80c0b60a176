"""What holds for all tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import Phase, settings

from tests.browser_finder import find_browser
from tests.frontend.viewer import ARGUMENTS
from tests.required import missing

HERE = Path(__file__).parent
BUSY = (
    "tests/evidence/python/",
    "tests/evidence/sandbox/",
    "tests/evidence/sql/",
    "tests/evidence/test_hung_checks.py",
)

# A law either holds or not; how long one example takes says how busy the machine is.
settings.register_profile("reflect-lab", parent=settings(), deadline=None)
settings.load_profile("reflect-lab")
# A mutation run asks whether a test fails, not why: no shrinking, few examples where a test names no number.
quick = (Phase.explicit, Phase.generate)
settings.register_profile("mutants", deadline=None, phases=quick, max_examples=25, database=None, derandomize=True)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Browser tests come late: Playwright keeps an event loop of its own running while its browser is open, and no
    other can be started in the same thread. After them come the cases alone, which need none: what is left for the one
    of two processes that is done first."""
    items.sort(key=_turn)


def _turn(item: pytest.Item) -> int:
    if HERE / "cases" in item.path.parents:
        return 2
    return int(item.get_closest_marker("browser") is not None)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> object:
    """What one of several processes takes together: the tests of a file; all that share the lab; and those that keep
    processors busy with those that hold how late a verdict may come, which must not run at the same time."""
    from xdist.scheduler import LoadScopeScheduling

    class Together(LoadScopeScheduling):  # type: ignore[misc]
        def _split_scope(self, nodeid: str) -> str:
            file = str(nodeid.partition("::")[0])
            if file.startswith(BUSY):
                return "busy"
            return "lab" if file.startswith("tests/browser/") else file

    return Together(config, log)


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """One headless browser for all tests of a process: Playwright can't be started twice in one thread."""
    path = find_browser()
    if path is None:
        missing("browser", "no Chromium or Chrome was found")
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=path, args=ARGUMENTS)
        yield opened
        opened.close()
