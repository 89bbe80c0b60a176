"""When two drafts count as the same (DESIGN 4.5)."""

from __future__ import annotations

import re

_BLANK_RUN = re.compile(r"\n{2,}")


def comparable(text: str) -> str:
    """A draft as it is compared with others: line ends, trailing whitespace and blank lines normalised."""
    lines = [line.rstrip() for line in text.replace("\r\n", "\n").replace("\r", "\n").split("\n")]
    return _BLANK_RUN.sub("\n\n", "\n".join(lines)).strip("\n")
