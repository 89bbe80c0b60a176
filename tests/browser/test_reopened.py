"""The saved notebook, opened again: without a kernel, without a network, and as a web page."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.browser.conftest import LOCAL, TOUR, FirstRun, Lab
from tests.browser.page import VIEW, LabPage, without_kernel

pytestmark = [pytest.mark.browser, pytest.mark.embedded]


@pytest.fixture(scope="module")
def reopened(browser: Any, lab: Lab, first_run: FirstRun) -> Iterator[LabPage]:
    """What was saved, in a page that can reach nothing but the lab, in a language that has no kernel."""
    (lab.files / "reopened.ipynb").write_text(json.dumps(without_kernel(first_run.document)), encoding="utf-8")
    page = LabPage(browser, lab.address, lab.files)
    page.block_other_origins()
    yield page.open("reopened.ipynb", kernel=False)
    page.close()


def test_the_whole_run_is_shown_by_our_own_view(reopened: LabPage) -> None:
    for cell in (TOUR, LOCAL):
        assert reopened.view(cell).count() == 1
        assert reopened.outputs(cell).last.locator(".jp-RenderedHTML, .jp-RenderedText").count() == 0
    view = reopened.view(TOUR)
    assert "Accepted on the evidence shown" in view.locator(".rl-banner").inner_text()
    assert [row.strip() for row in view.locator("ins").all_inner_texts()] == ["if not xs:", "return 0.0"]
    assert view.locator(".rl-receipt tbody tr").count() == 2
    assert view.locator(".rl-stop").count() == 0


def test_rounds_are_walked_by_keys_alone(reopened: LabPage) -> None:
    view = reopened.view(TOUR)
    view.locator("[role=tab][aria-selected=true]").focus()
    cells = reopened.page.locator(".jp-Cell").count()
    reopened.page.keyboard.press("ArrowLeft")
    assert view.locator("[role=tab][aria-selected=true]").inner_text().startswith("Round 0")
    assert "assert mean([]) == 0.0" in view.locator(".rl-issues").inner_text()
    assert view.locator(".rl-discarded").count() == 1
    reopened.page.keyboard.press("ArrowRight")
    assert view.locator("[role=tab][aria-selected=true]").inner_text().startswith("Round 1")
    assert reopened.page.evaluate("document.activeElement.getAttribute('role')") == "tab"
    assert reopened.page.locator(".jp-Cell").count() == cells, "the notebook took no key"


def test_nothing_was_asked_of_anybody_else(reopened: LabPage, lab: Lab) -> None:
    assert reopened.page.evaluate("jupyterapp.shell.currentWidget.sessionContext.session === null")
    assert reopened.seen.beyond(lab.address) == []
    assert reopened.seen.dialogs == [] and reopened.seen.errors == []


@dataclass(frozen=True)
class Exported:
    """A notebook as a web page, opened with the network refused."""

    html: str
    page: Any
    asked: list[str]


@pytest.fixture(scope="module")
def export(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[dict[str, Any]], Exported]]:
    folder = tmp_path_factory.mktemp("export")
    contexts: list[Any] = []

    def exported(document: dict[str, Any]) -> Exported:
        source = folder / f"page-{len(contexts)}.ipynb"
        source.write_text(json.dumps(document), encoding="utf-8")
        _nbconvert(source)
        context = browser.new_context(viewport={"width": 1200, "height": 900}, offline=True)
        contexts.append(context)
        page = context.new_page()
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        page.goto(source.with_suffix(".html").as_uri(), wait_until="load")
        return Exported(source.with_suffix(".html").read_text(encoding="utf-8"), page, asked[1:])

    yield exported
    for context in contexts:
        context.close()


def _nbconvert(source: Path) -> None:
    command = [sys.executable, "-m", "nbconvert", "--to", "html", str(source)]
    environment = {**os.environ, "JUPYTER_CONFIG_DIR": str(source.parent), "JUPYTER_DATA_DIR": str(source.parent)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr


def test_the_exported_page_holds_the_diff_and_asks_for_nothing_of_ours(
    first_run: FirstRun, export: Callable[[dict[str, Any]], Exported]
) -> None:
    with_runs = export(first_run.document)
    bare = json.loads(json.dumps(first_run.document))
    for cell in bare["cells"]:
        if cell["cell_type"] == "code":
            cell["outputs"] = []
    without = export(bare)
    # The template of nbconvert asks for its own scripts, whatever the notebook holds.
    assert set(with_runs.asked) == set(without.asked)
    body = with_runs.page.locator("body").inner_text()
    assert "Accepted on the evidence shown" in body
    assert "+     if not xs:" in body and "+         return 0.0" in body
    assert "assert mean([]) == 0.0: raised ZeroDivisionError" in body
    assert with_runs.page.locator(VIEW).count() == 0
    assert "+     if not xs:" in with_runs.html and "+     if not xs:" not in without.html


def test_the_exported_page_fits_a_window_of_900_pixels(
    first_run: FirstRun, export: Callable[[dict[str, Any]], Exported]
) -> None:
    page = export(first_run.document).page
    page.set_viewport_size({"width": 900, "height": 900})
    wide = page.evaluate(
        """() => [...document.querySelectorAll('.jp-RenderedHTML, .jp-RenderedHTMLCommon')]
          .filter(each => each.scrollWidth > each.clientWidth + 1).map(each => each.textContent.slice(0, 60))"""
    )
    assert wide == []
