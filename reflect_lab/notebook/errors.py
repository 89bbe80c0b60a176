"""How errors reach a notebook: one clean line in place of a traceback."""

from __future__ import annotations

from reflect_lab.core.errors import ReflectLabError


class CellError(ReflectLabError):
    """One clean line in place of a traceback; it stops "Run all"."""

    def _render_traceback_(self) -> list[str]:
        return [str(self)]


class clean_errors:
    """Turns this package's errors into one clean line."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if isinstance(error, ReflectLabError) and not isinstance(error, CellError):
            raise CellError(str(error)) from None
