"""What goes to standard error: a server's words and file names may hold terminal sequences, so these are shown."""

from __future__ import annotations

import sys

from reflect_lab.documents.visible import visible


def tell(text: object) -> None:
    """One message for the person at the terminal."""
    print(f"reflect-lab: {visible(str(text))}", file=sys.stderr)
