"""What a caged program writes, as it comes."""

from __future__ import annotations

import os
from dataclasses import dataclass, field


@dataclass
class Stream:
    """A pipe that is read as it comes, of which only the first `cap` bytes are kept."""

    descriptor: int
    cap: int
    kept: bytearray = field(default_factory=bytearray)
    size: int = 0
    is_open: bool = True

    def read(self) -> None:
        try:
            chunk = os.read(self.descriptor, 1 << 16)
        except BlockingIOError:
            return
        self.is_open = bool(chunk)
        self.size += len(chunk)
        self.kept += chunk[: max(0, self.cap - len(self.kept))]
