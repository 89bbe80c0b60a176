"""`%%reflect` in a real kernel: what a notebook saves, what a page is sent meanwhile, what Stop does."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest

from tests.end_to_end.processes import all_gone, critique, descendants
from tests.notebook.conftest import Lab
from tests.notebook.kernels import MIME, WIDGET, Cell
from tests.openai_server import Hang, OpenAITestServer, Reply

PROMPT_S = 1.5
"""Seconds within which the prompt is back after an interrupt."""

SEA = "Describe the sea.\n- [ ] it names a colour\n"
BLUE = "The sea is wide and blue."
FORMS = {MIME, "text/html", "text/markdown", "text/plain"}


def asked_of(server: OpenAITestServer, count: int) -> None:
    server.await_requests(len(server.requests) + count, 60)


def comm_messages(cell: Cell, kind: str) -> list[dict[str, Any]]:
    """What the live view was sent, its custom messages or its new state."""
    data = [m["content"]["data"] for m in cell.messages if m["msg_type"] == "comm_msg"]
    return [d["content"] if kind == "custom" else d["state"] for d in data if d.get("method") == kind]


def test_a_cell_leaves_four_static_forms_and_no_widget(lab: Lab) -> None:
    lab.server.add(Reply(BLUE), Reply(critique()))
    cell = lab.kernel.good(f"%%reflect\n{SEA}")
    (data,) = cell.shown
    assert set(data) == FORMS and WIDGET not in data
    assert cell.document["outcome"]["stop_reason"] == "pass" and cell.document["outcome"]["draft"] == BLUE
    assert all(BLUE in data[form] for form in FORMS - {MIME})
    assert data[MIME]["traces"].endswith("/traces")
    opened = [m["content"]["comm_id"] for m in cell.messages if m["msg_type"] == "comm_open"]
    closed = [m["content"]["comm_id"] for m in cell.messages if m["msg_type"] == "comm_close"]
    assert opened and set(opened) == set(closed), "no widget stays behind"


def test_text_reaches_the_live_view_while_the_cell_runs(lab: Lab) -> None:
    lab.server.add(Reply(pieces=["The sea ", "is blue."], end="hang"))
    cell = lab.kernel.start(f"%%reflect\n{SEA}")
    comm = cell.until_widget()
    cell.until(lambda m: "is blue." in str(m["content"].get("data", {}).get("content", "")))
    assert [m["delta"] for m in comm_messages(cell, "custom")] == ["The sea ", "is blue."]
    assert "writing the first draft" in [s["live"]["step"] for s in comm_messages(cell, "update") if s.get("live")]
    assert any(WIDGET in data for data in cell.shown), "the live view is what the cell shows now"
    lab.kernel.send_to_widget(comm, {"type": "stop"})
    assert cell.finish().status == "error"


def test_each_step_of_the_run_reaches_the_live_view(lab: Lab) -> None:
    lab.server.add(Reply(BLUE), Reply(critique()))
    cell = lab.kernel.good(f"%%reflect\n{SEA}")
    runs = [state["run"] for state in comm_messages(cell, "update") if state.get("run")]
    assert len(runs[0]["rounds"]) == 1
    assert runs[-1]["outcome"]["stop_reason"] == "pass"


def interrupt(lab: Lab, cell: Cell) -> None:
    lab.kernel.interrupt()


def press_stop(lab: Lab, cell: Cell) -> None:
    opened = [m for m in cell.messages if m["msg_type"] == "comm_open" and "_esm" in m["content"]["data"]["state"]]
    lab.kernel.send_to_widget(opened[-1]["content"]["comm_id"], {"type": "stop"})


@pytest.mark.parametrize("stop", [interrupt, press_stop])
def test_a_stop_while_the_server_hangs_gives_the_prompt_back_with_the_best_draft(
    lab: Lab, stop: Callable[[Lab, Cell], None], record_property: Callable[[str, object], None]
) -> None:
    before = descendants(lab.kernel.pid)
    lab.server.add(Reply(BLUE), Hang())
    cell = lab.kernel.start(f"%%reflect --out kept\n{SEA}")
    cell.until_widget()
    lab.server.await_requests(2, 60)
    sent = time.monotonic()
    stop(lab, cell)
    cell.finish()
    record_property("seconds", cell.replied_at - sent)
    assert cell.replied_at - sent < PROMPT_S
    lab.server.hang_up()
    assert cell.status == "error"
    assert cell.errors == [["the run was cancelled; the best draft so far is shown above"]]
    assert cell.document["outcome"]["stop_reason"] == "cancelled"
    assert cell.document["outcome"]["draft"] == BLUE
    assert not any(WIDGET in data for data in cell.shown)
    assert lab.kernel.value("kept.outcome.stop_reason, kept.outcome.draft") == f"('cancelled', {BLUE!r})"
    assert all_gone(set(descendants(lab.kernel.pid)) - set(before), 3.0)
    lab.server.add(Reply(BLUE), Reply(critique()))
    again = lab.kernel.good(f"%%reflect\n{SEA}")
    assert again.document["outcome"]["stop_reason"] == "pass"


def test_an_interrupt_while_a_check_runs_ends_the_checks_process(lab: Lab) -> None:
    lab.server.add(Reply("```python\nprint('up', flush=True)\ndef f():\n    while True: pass\n```"))
    before = descendants(lab.kernel.pid)
    cell = lab.kernel.start("%%reflect --sandbox process\nWrite `f()`.\n\n```python check\nassert f() == 1\n```\n")
    deadline = time.monotonic() + 60
    while not (children := set(descendants(lab.kernel.pid)) - set(before)) or not is_busy(children):
        assert time.monotonic() < deadline, "the check never started"
        time.sleep(0.05)
    sent = time.monotonic()
    lab.kernel.interrupt()
    cell.finish()
    assert cell.replied_at - sent < PROMPT_S
    assert cell.document["outcome"]["stop_reason"] == "cancelled"
    assert "while True" in cell.document["outcome"]["draft"]
    assert all_gone(children, 3.0)


def is_busy(processes: set[Any]) -> bool:
    """Whether one of them computes: an endless loop has used more than starting up takes."""
    return any(process.cpu_times().user > 0.5 for process in processes)


def test_an_interrupt_before_the_first_draft_is_one_clean_line_too(lab: Lab) -> None:
    lab.server.add(Hang())
    cell = lab.kernel.start(f"%%reflect\n{SEA}")
    lab.server.await_requests(1, 60)
    lab.kernel.interrupt()
    cell.finish()
    assert (cell.status, len(cell.errors[0])) == ("error", 1)
    assert cell.document["outcome"]["stop_reason"] == "cancelled" and cell.document["rounds"] == []


def test_a_failed_run_stops_run_all_with_one_clean_line(lab: Lab) -> None:
    # It fails after a while: a kernel drops only those cells that have reached it by then.
    late = {"role": "generator", "text": "", "delay_s": 1, "error": {"status": 401}}
    lab.kernel.good(f"import json; open('late.jsonl', 'w').write(json.dumps({late!r}))")
    (first, second) = (lab.kernel.start(f"%%reflect --model scripted:late.jsonl\n{SEA}"), lab.kernel.start("1 + 1"))
    first.finish()
    second._await_reply()
    assert first.status == "error" and len(first.errors[0]) == 1
    assert "HTTP 401" in first.errors[0][0]
    assert second.status == "aborted"
    wrong = lab.kernel.start(f"%%reflect --model scripted:none.jsonl\n{SEA}").finish()
    assert len(wrong.errors[0]) == 1 and "none.jsonl" in wrong.errors[0][0]


def test_wrong_cells_are_one_line_that_names_the_place(lab: Lab) -> None:
    wrong = {
        f"%%reflect --modle x\n{SEA}": "did you mean --model?",
        "%%reflect\nWrite f.\n\n```python chek\nassert f()\n```\n": "cell, line 4",
        "%%reflect\n \n": "there is no task",
        f"%%reflect --out 1x\n{SEA}": "no name of a variable",
        f"%%reflect --out class\n{SEA}": "no name of a variable",
        f"%%reflect 'open\n{SEA}": "can't be read",
        f"%%reflect --critic nobody\n{SEA}": "nobody",
        "%reflect shwo x": "show",
        "%reflect": "tour",
        "%reflect show": "RUN",
        "%reflect show 0000": "nearest",
        '%reflect sql "drop table runs"': "only be read",
        '%reflect sql "select': "%reflect: the words can't be read",
        "%%critic\nx\n": "%%critic NAME",
    }
    for code, hint in wrong.items():
        cell = lab.kernel.run(code)
        assert cell.status == "error", code
        (lines,) = cell.errors
        assert len(lines) == 1 and "\n" not in lines[0].strip(), lines
        assert hint in lines[0], code
        assert not any(WIDGET in data for data in cell.shown), code
    assert lab.server.requests == [], "nothing was spent"


def test_an_empty_cell_is_refused_by_the_name_that_the_user_wrote(lab: Lab) -> None:
    cell = lab.kernel.run("%%reflect\n")
    assert cell.status == "error"
    assert "%%reflect is a cell magic" in cell.said and "awaited" not in cell.said


def test_no_display_shows_nothing_and_the_cells_value_is_the_run(lab: Lab) -> None:
    lab.server.add(Reply(BLUE), Reply(critique()))
    cell = lab.kernel.good(f"%%reflect --no-display\n{SEA}")
    assert cell.shown == []
    assert not [m for m in cell.messages if m["msg_type"] == "comm_open"]
    assert lab.kernel.value("_.outcome.draft") == repr(BLUE)


def test_the_run_is_kept_in_a_variable_and_in_the_history(lab: Lab) -> None:
    lab.server.add(Reply(BLUE), Reply(critique()))
    lab.kernel.good(f"%%reflect --out r\n{SEA}")
    assert lab.kernel.value("type(r).__name__, r.outcome.draft, r.usage.calls") == f"('Run', {BLUE!r}, 2)"
    listed = lab.kernel.good("%reflect list").shown[-1]["text/plain"]
    assert lab.kernel.value("r.run_id").strip("'") in listed


def test_variables_fill_the_cell_where_they_are_asked_for(lab: Lab) -> None:
    lab.kernel.good("colour = 'green $x$'\nnumber = 3")
    lab.kernel.good("class Unspeakable:\n    def __str__(self): raise ValueError\nother = Unspeakable()")
    lab.server.add(Reply("Green."), Reply(critique()), Reply("Green."), Reply(critique()))
    lab.kernel.good("%%reflect --vars\nName {{colour}} {{number}} times.\n- [ ] it names {{ colour }}\n")
    lab.kernel.good("%%reflect\nName {{colour}}.\n- [ ] it names it\n")
    filled, plain = (lab.server.chats[index].body["messages"][-1]["content"] for index in (0, 2))
    assert "Name green $x$ 3 times." in filled and "R1: it names green $x$" in filled
    assert "Name {{colour}}." in plain
    missing = lab.kernel.run("%%reflect --vars\nName {{colours}}.\n")
    assert "did you mean" in missing.errors[0][0] and "colour" in missing.errors[0][0]


def test_a_critic_of_the_notebook_is_used_and_its_version_recorded(lab: Lab) -> None:
    told = lab.kernel.good("%%critic strict\nBe strict, STRICT-MARK.\n- [ ] names a colour\n").said
    assert told.startswith("critic strict: version ") and "1 rubric item" in told
    lab.server.add(Reply(BLUE), Reply(critique()))
    cell = lab.kernel.good(f"%%reflect --critic strict\n{SEA}")
    assert "STRICT-MARK" in lab.server.chats[1].body["messages"][0]["content"]
    prompt = cell.document["prompts"]["critic"]
    assert prompt["name"] == "strict" and prompt["sha256"].startswith(told.split()[3].strip(","))
    assert prompt["rubric"] == ["names a colour"]


def test_without_the_built_view_the_run_works_and_says_why(lab: Lab) -> None:
    widget = "reflect_lab.notebook.widget"
    lab.kernel.good(f"import {widget}, pathlib\nbuilt = {widget}.STATIC\n{widget}.STATIC = pathlib.Path('/nowhere')")
    try:
        lab.server.add(Reply(BLUE), Reply(critique()))
        cell = lab.kernel.good(f"%%reflect\n{SEA}")
    finally:
        lab.kernel.good(f"{widget}.STATIC = built")
    assert cell.document["outcome"]["stop_reason"] == "pass"
    assert "the buttons were off while this ran: the live view is not built" in cell.said


def test_bare_prompt_gives_one_draft_and_says_no_signal(lab: Lab) -> None:
    lab.server.add(Reply(BLUE))
    cell = lab.kernel.good("%%reflect\nDescribe the sea.")
    assert cell.document["outcome"]["stop_reason"] == "no_signal"
    assert cell.document["outcome"]["draft"] == BLUE and len(lab.server.chats) == 1


def test_the_value_of_a_cell_is_its_run_and_is_shown_once(lab: Lab) -> None:
    lab.server.add(Reply(BLUE), Reply(critique()))
    cell = lab.kernel.good(f"%%reflect --out sea\n{SEA}")
    assert len(cell.shown) == 1 and not [m for m in cell.messages if m["msg_type"] == "execute_result"]
    assert lab.kernel.value("type(_).__name__, _ is sea") == "('Run', True)"


def test_a_run_that_is_a_cells_value_later_is_shown_like_a_run(lab: Lab) -> None:
    lab.server.add(Reply(BLUE), Reply(critique()))
    lab.kernel.good(f"%%reflect --no-display --out sea\n{SEA}")
    (data,) = lab.kernel.good("sea").shown
    assert set(data) == FORMS and data[MIME]["run"]["outcome"]["draft"] == BLUE
