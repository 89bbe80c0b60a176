"""The tour: a task and fixed replies that show a whole run without any model. The checks are really executed."""

from __future__ import annotations

from pathlib import Path

SCRIPT_NAME = "tour"
"""`scripted:tour` plays the tour's replies."""

REPLIES = Path(__file__).with_name("replies.jsonl")


def tour_task() -> str:
    """The tour's task, as the text of a cell."""
    return Path(__file__).with_name("task.md").read_text("utf-8")
