"""What holds for all tests."""

from __future__ import annotations

import pytest
from hypothesis import Phase, settings

# A law either holds or not; how long one example takes says how busy the machine is.
settings.register_profile("reflect-lab", parent=settings(), deadline=None)
settings.load_profile("reflect-lab")
# A mutation run asks whether a test fails, not why: no shrinking, few examples where a test names no number.
quick = (Phase.explicit, Phase.generate)
settings.register_profile("mutants", deadline=None, phases=quick, max_examples=25, database=None, derandomize=True)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Browser tests come last: Playwright keeps an event loop of its own running while its browser is open, and no
    other can be started in the same thread until it is closed."""
    items.sort(key=lambda item: item.get_closest_marker("browser") is not None)
