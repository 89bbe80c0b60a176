"""Parts of the machine that some tests need, and what happens where one is missing."""

from __future__ import annotations

import os
from typing import NoReturn

import pytest


def missing(part: str, reason: str) -> NoReturn:
    """Skip the test, or fail it when `REFLECT_LAB_REQUIRE` (comma-separated parts, set in CI) names the part."""
    if part in os.environ.get("REFLECT_LAB_REQUIRE", "").split(","):
        pytest.fail(f"{part} is required here and missing: {reason}")
    pytest.skip(reason)
