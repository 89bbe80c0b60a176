"""A user acts on a run: changes a check, presses Stop."""

from __future__ import annotations

import json
import time
from collections.abc import Callable

import pytest

import reflect_lab as rl
from reflect_lab.documents.bundle import MIME
from tests.browser.conftest import TOUR, Lab
from tests.browser.page import LIVE_VIEW, LabPage, notebook
from tests.frontend.lab import ROOT
from tests.openai_server import Hang, Reply

pytestmark = pytest.mark.browser

WRITE = "%%reflect --model test-model --name {name}\nName the colour of the sea.\n\n- [ ] it names a colour\n"
SOON_S = 6.0
"""Until the prompt is back after a press of Stop: 1.5 s and less where nothing else runs on the machine."""


def test_another_expected_value_is_not_accepted(open_page: Callable[..., LabPage], lab: Lab) -> None:
    """Nothing is canned: the check is edited in the page, and the same replies no longer pass."""
    source = json.loads((ROOT / "notebooks" / "01-first-run.ipynb").read_text(encoding="utf-8"))
    (lab.files / "changed.ipynb").write_text(json.dumps(source), encoding="utf-8")
    page = open_page().open("changed.ipynb")
    page.run_cell(1)
    page.wait_until_over(1)
    page.cell(TOUR).locator(".cm-line", has_text="assert mean([2, 4, 6]) == 4.0").click()
    for key in ("End", *["Backspace"] * 3, *"5.0", "Shift+Enter"):
        page.page.keyboard.press(key)
    page.wait_until_over(TOUR)
    view = page.view(TOUR)
    assert "Accepted" not in view.locator(".rl-banner").inner_text()
    assert "assert mean([2, 4, 6]) == 5.0" in view.locator(".rl-issues").inner_text()
    outcome = page.save()["cells"][TOUR]["outputs"][-1]["data"][MIME]["run"]["outcome"]
    assert outcome["stop_reason"] == "no_change" and outcome["status"] != "accepted"


def test_stop_keeps_the_best_draft_and_the_next_cell_runs(open_page: Callable[..., LabPage], lab: Lab) -> None:
    """The critic's server hangs; the draft before it is what the run returns."""
    cells = ("%load_ext reflect_lab", WRITE.format(name="stopped"), WRITE.format(name="after"))
    (lab.files / "stop.ipynb").write_text(json.dumps(notebook(*cells)))
    lab.server.add(Reply("The sea is blue."), Hang())
    page = open_page().open("stop.ipynb")
    page.run_cell(0)
    page.run_cell(1)
    live = page.page.locator(LIVE_VIEW)
    live.locator("[role=status]", has_text="asking the critic").wait_for()
    asked = len(lab.server.chats)
    live.locator(".rl-stop").click()
    pressed = time.monotonic()
    page.wait_until_over(1)
    took = time.monotonic() - pressed
    lab.server.hang_up()
    assert len(lab.server.chats) == asked, "nothing more was asked"
    assert "The sea is blue." in page.view(1).locator(".rl-draft").inner_text()
    assert "Accepted" not in page.view(1).locator(".rl-banner").inner_text()
    document = page.save()
    shown, error = document["cells"][1]["outputs"]
    assert shown["data"][MIME]["run"]["outcome"]["stop_reason"] == "cancelled"
    assert "the run was cancelled" in page.outputs(1).last.inner_text() and error["output_type"] == "error"
    assert took < SOON_S
    run_id = shown["data"][MIME]["run"]["run_id"]
    stored = rl.open_traces(lab.traces).stored(run_id)
    assert stored.run.outcome is not None and stored.run.outcome.draft == "The sea is blue."

    lab.server.add(Reply("It is green."), Reply(json.dumps({"issues": [], "score": 0.9, "requirements_checked": []})))
    page.run_cell(2)
    page.wait_until_over(2)
    assert "Accepted on the evidence shown" in page.view(2).locator(".rl-title").inner_text()


def test_stop_in_the_middle_of_an_answer_ends_the_stream(open_page: Callable[..., LabPage], lab: Lab) -> None:
    cells = ("%load_ext reflect_lab", WRITE.format(name="streamed"), "print('next cell', 6 * 7)")
    (lab.files / "stream.ipynb").write_text(json.dumps(notebook(*cells)))
    lab.server.add(Reply("word " * 2000, delay_s=0.05))
    page = open_page().open("stream.ipynb")
    page.run_cell(0)
    page.run_cell(1)
    stream = page.page.locator(f"{LIVE_VIEW} .rl-stream pre")
    stream.filter(has_text="word word word word").wait_for()
    page.page.locator(f"{LIVE_VIEW} .rl-stop").click()
    page.wait_until_over(1)
    lab.server.hang_up()
    outcome = page.save()["cells"][1]["outputs"][0]["data"][MIME]["run"]["outcome"]
    assert outcome["stop_reason"] == "cancelled" and outcome["status"] == "stopped"
    page.run_cell(2)
    page.wait_until_over(2)
    assert page.outputs(2).inner_text().strip() == "next cell 42"
