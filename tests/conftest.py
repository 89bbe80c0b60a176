"""Settings of all tests."""

from __future__ import annotations

from hypothesis import settings

# A law either holds or not; how long one example takes says how busy the machine is.
settings.register_profile("reflect-lab", parent=settings(), deadline=None)
settings.load_profile("reflect-lab")
