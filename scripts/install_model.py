"""Installs the embedded model. Exit code 2: this machine can't have it; 1: it failed and may work another time."""

from __future__ import annotations

import sys

from reflect_lab.core.errors import ReflectLabError, WrongUse
from reflect_lab.models.embedded import install

try:
    install(print)
except ReflectLabError as error:
    print(error, file=sys.stderr)
    sys.exit(2 if isinstance(error, WrongUse) else 1)
