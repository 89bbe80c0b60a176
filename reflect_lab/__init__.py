"""reflect-lab: bounded reflection loops, evidence first, every stop explained.

Importing this package imports none of its heavy parts; a name is loaded when it is first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from reflect_lab.core.version import __version__ as __version__

if TYPE_CHECKING:
    from reflect_lab.api import (
        Finding,
        Location,
        Policy,
        Report,
        Run,
        RunOptions,
        Session,
        Task,
        check,
        open_traces,
        reflect,
        reflect_sync,
        replay,
    )
    from reflect_lab.core.errors import ReflectLabError, WrongUse

__all__ = [
    "Finding",
    "Location",
    "Policy",
    "ReflectLabError",
    "Report",
    "Run",
    "RunOptions",
    "Session",
    "Task",
    "WrongUse",
    "check",
    "open_traces",
    "reflect",
    "reflect_sync",
    "replay",
]

_HOMES = dict.fromkeys(__all__, "reflect_lab.api")


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])


def load_ipython_extension(shell: Any) -> None:
    """`%load_ext reflect_lab`."""
    from reflect_lab.notebook.extension import load

    load(shell)


def unload_ipython_extension(shell: Any) -> None:
    """`%unload_ext reflect_lab`."""
    from reflect_lab.notebook.extension import unload

    unload(shell)
