"""A saved notebook in real JupyterLab, without a kernel: the run is shown by the MIME renderer."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from reflect_lab.documents.bundle import bundle
from tests.frontend.lab import ROOT, TOKEN, running_lab
from tests.frontend.make_runs import RUNS
from tests.required import missing

pytestmark = pytest.mark.browser


def notebook(*names: str) -> dict[str, Any]:
    """A notebook of a language that has no kernel here, never run on this machine: untrusted."""
    cells = []
    for name in names:
        data = bundle(RUNS[name](), "traces/")
        output = {"output_type": "display_data", "data": data, "metadata": {}}
        cell = {"id": name, "cell_type": "code", "execution_count": 1, "metadata": {}, "source": ""}
        cells.append({**cell, "outputs": [output]})
    kernel = {"name": "no-such-kernel", "display_name": "none", "language": "none"}
    return {
        "nbformat": 4,
        "nbformat_minor": 5,
        "metadata": {"kernelspec": kernel, "language_info": {"name": "none"}},
        "cells": cells,
    }


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    pytest.importorskip("jupyterlab")
    if not (ROOT / "reflect_lab" / "labextension" / "package.json").exists():
        missing("lab", "the labextension is not built: npm run build:prod in labextension/")
    folder = tmp_path_factory.mktemp("lab")
    (folder / "notebooks").mkdir()
    Path(folder / "notebooks" / "saved.ipynb").write_text(json.dumps(notebook("accepted", "hostile")))
    with running_lab(folder) as url:
        yield url


def test_a_saved_run_is_shown_whole_without_a_kernel_in_both_themes(browser: Any, address: str) -> None:
    page = browser.new_page(viewport={"width": 1300, "height": 1000})
    away: list[str] = []
    page.on("request", lambda request: None if request.url.startswith(address) else away.append(request.url))
    page.goto(f"{address}/lab/tree/saved.ipynb?token={TOKEN}&reset")
    page.locator(".jp-Dialog button:has-text('No Kernel')").click(timeout=60_000)
    views = page.locator(".jp-OutputArea-output .rl-view")
    views.nth(1).wait_for(state="attached", timeout=60_000)
    assert views.count() == 2
    assert page.locator(".jp-RenderedHTML").count() == 0
    first = views.first
    assert "Accepted on the evidence shown" in first.inner_text()
    assert "no valid Unicode" in views.nth(1).locator(".rl-notices").inner_text()
    assert first.locator(".rl-row.rl-added").count() == 3
    backgrounds = set()
    for theme in ("JupyterLab Light", "JupyterLab Dark"):
        page.evaluate("theme => jupyterapp.commands.execute('apputils:change-theme', { theme })", theme)
        is_light = str(theme.endswith("Light")).lower()
        page.wait_for_selector(f"body[data-jp-theme-light='{is_light}']", state="attached")
        # The lab's own rules for description lists must not pull the stop's numbers apart.
        tops = first.locator(".rl-numbers dd").evaluate_all("all => all.map(each => each.getBoundingClientRect().top)")
        assert len(set(tops)) == 1
        backgrounds.add(first.evaluate("view => getComputedStyle(view).backgroundColor"))
        width = first.evaluate("view => view.parentElement.scrollWidth - view.parentElement.clientWidth")
        assert width == 0
    assert len(backgrounds) == 2
    assert page.evaluate("window.hit") is None
    assert [url for url in away if not url.startswith(("data:", "blob:"))] == []
    page.close()


def test_the_arrow_keys_stay_in_the_view_and_the_palette_leads_to_it(browser: Any, address: str) -> None:
    page = browser.new_page(viewport={"width": 1300, "height": 1000})
    page.goto(f"{address}/lab/tree/saved.ipynb?token={TOKEN}&reset")
    page.locator(".jp-Dialog button:has-text('No Kernel')").click(timeout=60_000)
    page.wait_for_selector(".rl-view", timeout=60_000)
    assert page.evaluate("jupyterapp.commands.execute('reflect-lab:focus-run')") is True
    selected = page.locator(".rl-view").first.locator("[role=tab][aria-selected=true]")
    assert selected.evaluate("tab => tab === document.activeElement") is True
    cells = page.locator(".jp-Cell").count()
    for key in ("ArrowLeft", "d", "d", "a", "x"):
        page.keyboard.press(key)
    assert selected.inner_text().startswith("Round 0")
    assert page.locator(".jp-Cell").count() == cells
    page.close()
