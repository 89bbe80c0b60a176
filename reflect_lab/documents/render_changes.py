"""What changed between two texts, such as two versions of a prompt, as plain text and as HTML.

Both texts are foreign: nothing of them reaches a terminal as a control character or a page as markup. The colours are
the ones of a run's diff, which read well on light and dark pages.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from html import escape

from reflect_lab.core.drafts import diff
from reflect_lab.documents.render_diff import Row, diff_rows
from reflect_lab.documents.render_html import NO_MATH, diff_html
from reflect_lab.documents.render_text import diff_lines
from reflect_lab.documents.render_words import LEVELS, count
from reflect_lab.documents.visible import visible_line

_CAPS = LEVELS[0]


@dataclass(frozen=True, kw_only=True)
class Changes:
    """Two texts, what each is called, and the items of a list that only one of them holds (called `items`)."""

    old_name: str
    new_name: str
    old: str
    new: str
    items: str = "items"
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()


def changes_text(changes: Changes) -> str:
    """The changes as lines of text."""
    return "\n".join(_text(changes)) + "\n"


def changes_html(changes: Changes) -> str:
    """The changes as one HTML fragment."""
    rows = _rows(changes)
    parts = [f"<div><strong>{escape(_title(changes))}</strong></div>"]
    notes = [f"<li>{escape(note)}</li>" for note in _notes(changes)]
    parts += [f'<ul style="margin:2px 0 6px">{"".join(notes)}</ul>'] if notes else []
    parts.append(diff_html(rows, _CAPS) if rows else "<div>The texts are equal.</div>")
    return f'<div class="{NO_MATH}" style="line-height:1.45;overflow-wrap:anywhere">{"".join(parts)}</div>'


def _text(changes: Changes) -> Iterator[str]:
    rows = _rows(changes)
    yield _title(changes)
    yield from (f"  {note}" for note in _notes(changes))
    if not rows:
        yield "  the texts are equal"
    yield from (f"  {line}" for line in diff_lines(rows, _CAPS))
    if len(rows) > _CAPS.rows:
        yield f"  … {count(len(rows) - _CAPS.rows, 'diff line')} more, not shown here"


def _rows(changes: Changes) -> list[Row]:
    return list(diff_rows(changes.old, changes.new, diff(changes.old, changes.new)))


def _title(changes: Changes) -> str:
    return f"{visible_line(changes.old_name, _CAPS.line)} -> {visible_line(changes.new_name, _CAPS.line)}"


def _notes(changes: Changes) -> Iterator[str]:
    for what, items in (("added to", changes.added), ("removed from", changes.removed)):
        for item in items[: _CAPS.entries]:
            yield f"{what} the {changes.items}: {visible_line(item, _CAPS.line)}"
        if len(items) > _CAPS.entries:
            yield f"{what} the {changes.items}: {len(items) - _CAPS.entries:,} more, not shown here"
