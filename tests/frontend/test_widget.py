"""The Python half of the live view: what it sends to the page, and what comes back."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from comm.base_comm import BaseComm

from reflect_lab.core.errors import WrongUse
from reflect_lab.documents.run_document import dump_run
from reflect_lab.notebook import widget as widget_module
from reflect_lab.notebook.widget import RESYNC_CHARACTERS, STATIC, RunWidget
from tests.frontend.make_runs import RUNS
from tests.required import missing


class RecordingComm(BaseComm):  # type: ignore[misc]
    """A comm whose messages stay here, each checked to be what the kernel's protocol can carry."""

    def __init__(self) -> None:
        self.sent: list[Any] = []
        super().__init__(target_name="jupyter.widget", data={})

    def publish_msg(self, msg_type: str, data: Any = None, **rest: Any) -> None:
        json.dumps(data, ensure_ascii=False).encode("utf-8")
        if msg_type == "comm_msg":
            self.sent.append(data)

    @property
    def custom(self) -> list[Any]:
        return [data["content"] for data in self.sent if data["method"] == "custom"]

    def states(self, name: str) -> list[Any]:
        updates = (data["state"] for data in self.sent if data["method"] == "update")
        return [state[name] for state in updates if name in state]


@pytest.fixture
def view() -> RunWidget:
    if not (STATIC / "widget.js").exists():
        missing("npm", "the view is not built: npm run build:prod in labextension/")
    shown = RunWidget(traces="traces/ of this project")
    shown.comm = RecordingComm()
    return shown


def test_streamed_pieces_go_alone_and_are_counted(view: RunWidget) -> None:
    view.show_live("writing", elapsed=1.5)
    for piece in ("def ", "mean", ""):
        view.stream(piece)
    assert view.comm.custom == [
        {"type": "text", "delta": "def ", "seq": 1},
        {"type": "text", "delta": "mean", "seq": 2},
    ]
    assert view.live["text"] == "def mean"
    assert len(view.comm.states("live")) == 1


def test_the_whole_text_is_sent_again_now_and_then_for_views_that_opened_late(view: RunWidget) -> None:
    view.show_live("writing")
    pieces = ["x" * 100] * (2 * RESYNC_CHARACTERS // 100 + 2)
    for piece in pieces:
        view.stream(piece)
    resent = view.comm.states("live")[1:]
    assert len(resent) == 2
    for state in resent:
        assert len(state["text"]) == 100 * state["seq"] > RESYNC_CHARACTERS
    assert len(view.comm.custom) + len(resent) == len(pieces)


def test_a_new_step_begins_with_an_empty_text_and_the_end_with_none(view: RunWidget) -> None:
    view.show_live("writing")
    view.stream("abc")
    view.show_live("writing")
    assert view.comm.states("live")[-1]["text"] == ""
    view.end_live()
    assert view.comm.states("live")[-1] is None
    view.stream("late")
    assert view.live is None


def test_lone_surrogates_are_replaced_one_for_one(view: RunWidget) -> None:
    run = dump_run(RUNS["hostile"]())
    view.show_live("writing \ud83e")
    view.stream("a\ud83eb")
    view.show_run(run)
    assert view.live["text"] == "a\ufffdb"
    sent = view.comm.states("run")[0]["task"]["text"]
    assert len(sent) == len(run["task"]["text"])
    assert "\ufffd" in sent


def test_stop_calls_whoever_asked_for_it_until_they_take_it_back(view: RunWidget) -> None:
    calls: list[str] = []
    view.on_stop(lambda: calls.append("first"))
    take_back = view.on_stop(lambda: calls.append("second"))
    press = {"content": {"data": {"method": "custom", "content": {"type": "stop"}}}, "buffers": []}
    view._handle_msg(press)
    take_back()
    view._handle_msg(press)
    view._handle_msg({"content": {"data": {"method": "custom", "content": "stop"}}, "buffers": []})
    assert calls == ["first", "second", "first"]


def test_a_view_that_was_not_built_says_what_to_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(widget_module, "STATIC", tmp_path)
    with pytest.raises(WrongUse, match="make setup"):
        RunWidget()


def test_importing_the_notebook_package_brings_in_no_widgets() -> None:
    code = "import sys, reflect_lab.notebook; print('ipywidgets' in sys.modules or 'anywidget' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
