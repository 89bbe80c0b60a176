"""A run as the four forms that a notebook saves: our own view's document, HTML, Markdown and plain text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from reflect_lab.core.run import Run
from reflect_lab.documents.render_html import run_html
from reflect_lab.documents.render_markdown import run_markdown
from reflect_lab.documents.render_text import run_text
from reflect_lab.documents.render_words import LEVELS, Caps, stop_title
from reflect_lab.documents.run_document import dump_run
from reflect_lab.documents.trim import fits, trim
from reflect_lab.documents.visible import visible_line

MIME = "application/vnd.reflectlab.run+json"

MAX_BYTES = 200_000
"""Bytes of a saved cell's output over all forms together, as the notebook file holds them."""
_SHARES = {MIME: 86_000, "text/html": 48_000, "text/markdown": 34_000, "text/plain": 30_000}


class Renderer(Protocol):
    def __call__(
        self, run: Run, *, traces: str | None = None, caps: Caps | None = None, left_out: Sequence[str] = ()
    ) -> str: ...


def bundle(run: Run, traces: str | None = None) -> dict[str, object]:
    """The run by MIME type, at most `MAX_BYTES` over all forms.

    What a form leaves out is named in it (`left_out` in the document), with the way to the whole run. The decision, the
    returned draft, the diffs and the issues with their quotes are kept as long as anything else can go.
    """
    return {
        MIME: _document(run, traces),
        "text/html": _fitting(run_html, run, traces, _SHARES["text/html"]),
        "text/markdown": _fitting(run_markdown, run, traces, _SHARES["text/markdown"]),
        "text/plain": _fitting(run_text, run, traces, _SHARES["text/plain"]),
    }


def how_to_get(run: Run) -> str:
    return f"the whole run: %reflect show {visible_line(run.run_id, 80)}"


def _document(run: Run, traces: str | None) -> dict[str, object]:
    where = None if traces is None else visible_line(traces, 500)
    document, left_out = trim(dump_run(run), _SHARES[MIME] - 6_000)
    return {"run": document, "traces": where, "left_out": [*left_out, how_to_get(run)] if left_out else []}


def _fitting(render: Renderer, run: Run, traces: str | None, limit: int) -> str:
    """The fullest rendering within `limit` bytes."""
    for level, caps in enumerate(LEVELS):
        left_out = () if level == 0 else ("parts of long texts and lists",)
        text = render(run, traces=traces, caps=caps, left_out=left_out)
        if fits(text, limit):
            return text
    # So far down only a run made of very many huge parts is still too large: say how it ended and where it is.
    return f"{stop_title(run.outcome)}. This run is too large to be shown here; {how_to_get(run)}"
