"""Text of a model that tries to be more than text: live, saved, and in every form that is saved."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from reflect_lab.documents.bundle import MIME
from tests.browser.conftest import Lab
from tests.browser.page import LIVE_VIEW, LabPage, notebook, without_kernel
from tests.frontend.hostile_run import PAYLOADS
from tests.frontend.viewer import FOREIGN
from tests.openai_server import Reply

pytestmark = pytest.mark.browser

ATTACK = "\n".join(PAYLOADS)
# The lab gives each Markdown heading a link to itself; the headings are our own words.
HEADINGS = ", ".join(f".jp-InternalAnchorLink[href^='#{start}']" for start in ("Round-", "Best-draft-so-far-"))
ATTRIBUTES = "[onerror], [onload], [href], [src], [data-commandlinker-command]"
CELL = """%%reflect --model {model} --name hostile --max-revisions 1 --out run
Write anything.

- [ ] it says <img src=//attacker.invalid/r.png onerror="window.hit='requirement'">
"""
RECORD_COMMANDS = """() => {
  window.ran = [];
  jupyterapp.commands.commandExecuted.connect((_, args) => window.ran.push(args.id));
}"""


def script() -> str:
    issue = {
        "id": PAYLOADS[0],
        "severity": "blocking",
        "requirement": "R1",
        "location": PAYLOADS[1],
        "evidence": ATTACK,
        "suggestion": ATTACK,
    }
    groundless = {**issue, "id": PAYLOADS[2], "requirement": None}
    verdict = {"issues": [issue, groundless], "score": 0.1, "requirements_checked": ["R1"]}
    lines = [
        {"role": "generator", "text": ATTACK, "reasoning": ATTACK},
        {"role": "critic", "json": verdict},
        {"role": "generator", "text": f"{ATTACK}\n{PAYLOADS[1]}"},
        {"role": "critic", "json": {**verdict, "score": 0.2}},
    ]
    return "".join(json.dumps(line) + "\n" for line in lines)


def assert_harmless(page: LabPage, outputs: Any) -> None:
    made = outputs.locator(f":is({FOREIGN}, {ATTRIBUTES}, mjx-container):not({HEADINGS})")
    assert made.evaluate_all("all => all.map(each => each.outerHTML.slice(0, 200))") == []
    assert page.page.evaluate("window.hit ?? null") is None
    assert page.seen.dialogs == []
    assert page.seen.beyond(page.address) == []


def press_everything(view: Any) -> None:
    view.evaluate("view => view.querySelectorAll('details').forEach(each => { each.open = true })")
    for tab in view.locator("[role=tab]").all():
        tab.click()
        for button in view.locator("button:not([role=tab])").element_handles():
            button.evaluate("button => button.isConnected && button.click()")  # an earlier one may take a later away


def test_a_hostile_answer_stays_text_while_it_streams(open_page: Callable[..., LabPage], lab: Lab) -> None:
    (lab.files / "live.ipynb").write_text(
        json.dumps(notebook("%load_ext reflect_lab", CELL.format(model="test-model")))
    )
    pieces = [ATTACK[at : at + 40] for at in range(0, len(ATTACK), 40)]
    lab.server.add(Reply(ATTACK, pieces=[*pieces, "the end"], end="hang"))
    page = open_page().open("live.ipynb")
    page.page.evaluate(RECORD_COMMANDS)
    page.run_cell(0)
    page.run_cell(1)
    live = page.page.locator(LIVE_VIEW)
    live.locator(".rl-stream pre", has_text="the end").wait_for()
    assert "<script>window.hit='script'</script>" in live.locator(".rl-stream").inner_text()
    assert_harmless(page, page.outputs(1).locator(".rl-run"))
    live.locator(".rl-stop").click()
    page.wait_until_over(1)
    assert_harmless(page, page.outputs(1).locator(".rl-run"))
    assert not [name for name in page.page.evaluate("ran") if name.startswith("filebrowser:")]


def test_a_hostile_run_stays_text_in_every_saved_form(open_page: Callable[..., LabPage], lab: Lab) -> None:
    (lab.files / "hostile.jsonl").write_text(script())
    cells = ("%load_ext reflect_lab", CELL.format(model="scripted:hostile.jsonl"), "%reflect list")
    (lab.files / "hostile.ipynb").write_text(json.dumps(notebook(*cells)))
    page = open_page().open("hostile.ipynb")
    page.page.evaluate(RECORD_COMMANDS)
    for cell in range(3):
        page.run_cell(cell)
        page.wait_until_over(cell)
    view = page.view(1)
    assert view.locator("[role=tab]").count() == 2
    press_everything(view)
    assert "<script>window.hit='script'</script>" in view.inner_text()
    for cell in (1, 2):
        assert_harmless(page, page.outputs(cell))
    assert not [name for name in page.page.evaluate("ran") if name.startswith("filebrowser:")]

    saved = page.save()["cells"][1]["outputs"][-1]["data"]
    forms = ("text/html", "text/markdown", MIME)
    document = without_kernel(notebook(*["" for _ in forms]))
    for cell, form in zip(document["cells"], forms, strict=True):
        cell["outputs"] = [{"output_type": "display_data", "data": {form: saved[form]}, "metadata": {}}]
    (lab.files / "forms.ipynb").write_text(json.dumps(document))
    again = open_page().open("forms.ipynb", kernel=False)
    for index in range(len(forms)):
        outputs = again.outputs(index)
        outputs.get_by_text("window.hit='script'").first.wait_for(state="attached")
        assert_harmless(again, outputs)
