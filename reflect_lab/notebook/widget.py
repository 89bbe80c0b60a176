"""The live view of a run: an anywidget whose page half is built from `labextension/`.

Import this module only when a widget is about to be shown: it brings in ipywidgets.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import anywidget
import traitlets

from reflect_lab.core.errors import WrongUse

STATIC = Path(__file__).resolve().parent.parent / "static"

RESYNC_CHARACTERS = 2000
"""Streamed characters after which the whole text is sent again, for views that opened in the middle of an answer."""

_LONE_SURROGATES = re.compile("[\ud800-\udfff]")


class RunWidget(anywidget.AnyWidget):
    """Shows one run while it happens. All methods are for the kernel's main thread.

    Raises WrongUse when the page half was not built.
    """

    run = traitlets.Dict(default_value=None, allow_none=True).tag(sync=True)
    live = traitlets.Dict(default_value=None, allow_none=True).tag(sync=True)
    traces = traitlets.Unicode(default_value=None, allow_none=True).tag(sync=True)

    def __init__(self, traces: str | None = None) -> None:
        """`traces` says in words where the run is recorded."""
        # Traits of their own, read here: importing the module needs no built files.
        self.add_traits(
            _esm=traitlets.Unicode(_built("widget.js")).tag(sync=True),
            _css=traitlets.Unicode(_built("widget.css")).tag(sync=True),
        )
        super().__init__(traces=traces)
        self._stop_callbacks: list[Callable[[], None]] = []
        self._answer_callbacks: list[Callable[[bool, object], None]] = []
        self._unsent = 0
        self.on_msg(self._receive)

    def show_run(self, document: Mapping[str, Any]) -> None:
        """Show the run as it is now; `document` is what `dump_run` gives."""
        self.run = _sendable(document)

    def show_live(
        self,
        step: str,
        *,
        text: str = "",
        elapsed: float | None = None,
        can_stop: bool = True,
        buttons_off_reason: str | None = None,
        question: str | None = None,
        asked: int = 0,
    ) -> None:
        """Show what the loop does now. `step` is in plain words, `text` the answer so far, `elapsed` in seconds.

        Without `can_stop` the view says `buttons_off_reason` in the button's place. A `question` is whether code may
        run once with process limits only; it is shown with its two buttons. `asked` is its number, which comes back
        with the answer.
        """
        self._unsent = 0
        self.live = _sendable(
            {
                "step": step,
                "text": text,
                "elapsed": elapsed,
                "can_stop": can_stop,
                "buttons_off_reason": buttons_off_reason,
                "question": question,
                "asked": asked,
                "seq": 0,
            }
        )

    def stream(self, delta: str) -> None:
        """Add to the answer that `show_live` began; without one it does nothing."""
        if self.live is None or not delta:
            return
        delta = _sendable(delta)
        seq = self.live["seq"] + 1
        # The trait's own value is kept in step without a message; the page gets the delta alone.
        self.live["text"] += delta
        self.live["seq"] = seq
        self._unsent += len(delta)
        if self._unsent > RESYNC_CHARACTERS:
            self._unsent = 0
            self.send_state("live")
        else:
            self.send({"type": "text", "delta": delta, "seq": seq})

    def end_live(self) -> None:
        """Nothing runs any more: the view shows the run's end."""
        self._unsent = 0
        self.set_trait("live", None)

    def on_stop(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Call `callback` when the user presses Stop. Returns what takes it back."""
        self._stop_callbacks.append(callback)
        return lambda: self._stop_callbacks.remove(callback)

    def on_answer(self, callback: Callable[[bool, object], None]) -> Callable[[], None]:
        """Call `callback` when the user answers a question: True where the code may run, and the question's number as
        the page says it. Returns what takes it back."""
        self._answer_callbacks.append(callback)
        return lambda: self._answer_callbacks.remove(callback)

    def _receive(self, _widget: object, content: object, _buffers: object) -> None:
        if not isinstance(content, dict):
            return
        if content.get("type") == "stop":
            for callback in tuple(self._stop_callbacks):
                callback()
        if content.get("type") == "answer":
            for answered in tuple(self._answer_callbacks):
                answered(content.get("may_run") is True, content.get("asked"))


def _built(name: str) -> str:
    path = STATIC / name
    if not path.exists():
        raise WrongUse(f"the live view is not built: {path} is missing. Run `make setup`, or `npm run build:prod`.")
    return path.read_text(encoding="utf-8")


def _sendable(value: Any) -> Any:
    """The value with lone surrogates replaced one by one, so that offsets hold: the kernel's protocol is UTF-8."""
    if isinstance(value, str):
        return _LONE_SURROGATES.sub("\N{REPLACEMENT CHARACTER}", value)
    if isinstance(value, Mapping):
        return {_sendable(key): _sendable(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_sendable(part) for part in value]
    return value
