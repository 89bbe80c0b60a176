"""What ends a run while it is waited for."""

from __future__ import annotations

import os
import threading


class StopSwitch:
    """Ends a caged run from another thread: it can be waited for (`fileno`) and asked (`is_stopped`)."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._read, self._write = os.pipe()
        self._is_open, self.is_stopped = True, False

    def fileno(self) -> int:
        return self._read

    def stop(self) -> None:
        with self._lock:
            self.is_stopped = True
            if self._is_open:
                os.write(self._write, b"x")

    def close(self) -> None:
        with self._lock:
            if self._is_open:
                self._is_open = False
                os.close(self._read)
                os.close(self._write)
