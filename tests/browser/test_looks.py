"""The view in JupyterLab, for everyone: both themes, a narrow window, axe."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.browser.conftest import Lab
from tests.browser.page import LIVE_VIEW, VIEW, LabPage, notebook, without_kernel
from tests.frontend.make_runs import RUNS
from tests.frontend.viewer import AXE
from tests.openai_server import Reply
from tests.required import missing

pytestmark = pytest.mark.browser

THEMES = ("Light", "Dark")
NAMES = ("accepted", "stalled", "cancelled", "error")
TOO_WIDE = """() => {
  const wide = [];
  for (const output of document.querySelectorAll('.jp-OutputArea-output:has(.rl-view)')) {
    for (const each of [output, ...output.querySelectorAll('*')]) {
      const isScrolled = ['auto', 'scroll', 'hidden', 'clip'].includes(getComputedStyle(each).overflowX);
      const isMeant = each.matches('.rl-aside, .rl-block, svg, svg *');
      if (isScrolled && !isMeant && each.scrollWidth > each.clientWidth + 1) wide.push(each.className);
      const { right } = each.getBoundingClientRect();
      if (right > output.getBoundingClientRect().right + 1 && !isMeant) wide.push(`beyond: ${each.className}`);
    }
  }
  return wide;
}"""


LOOKED_AT = """async () => {
  const end = performance.now() + 30000;
  for (;;) {
    const found = await axe.run({ include: [['.rl-view']] }, { resultTypes: ['violations', 'passes'] });
    const isWhole = found.passes.some(rule => rule.id === 'color-contrast');
    if (isWhole || performance.now() > end) return [isWhole, found];
    await new Promise(requestAnimationFrame);
  }
}"""
"""What axe found, once contrast is among what it looked at: the lab lays itself out anew in its own time, and what is
not on the page just then is not looked at."""


@pytest.fixture(scope="module")
def gallery(lab: Lab) -> str:
    """A notebook with a run of every kind of end, as the kernel would have saved them."""
    from reflect_lab.documents.bundle import bundle

    document = without_kernel(notebook(*NAMES))
    for cell, name in zip(document["cells"], NAMES, strict=True):
        cell["outputs"] = [{"output_type": "display_data", "data": bundle(RUNS[name](), "traces/"), "metadata": {}}]
    (lab.files / "gallery.ipynb").write_text(json.dumps(document))
    return "gallery.ipynb"


def serious(page: LabPage) -> list[Any]:
    if not AXE.exists():
        missing("npm", "axe-core is not installed: run `npm ci` in labextension/")
    page.page.add_script_tag(content=AXE.read_text(encoding="utf-8"))
    # JupyterLab's body has no height of its own, so that axe takes everything in it for clipped away.
    page.page.evaluate("document.body.style.height = '100vh'")
    is_whole, found = page.page.evaluate(LOOKED_AT)
    assert is_whole, "contrast was looked at"
    return [
        (rule["id"], node["target"], node["failureSummary"])
        for rule in found["violations"]
        if rule["impact"] in ("serious", "critical")
        for node in rule["nodes"][:3]
    ]


def test_saved_runs_fit_a_narrow_window_and_axe_finds_nothing_serious(
    open_page: Callable[..., LabPage], gallery: str
) -> None:
    page = open_page(width=900, height=900)
    page.open(gallery, kernel=False)
    views = page.page.locator(VIEW)
    assert views.count() == len(NAMES)
    for index in range(len(NAMES)):
        page.cell(index)
        page.page.evaluate("document.querySelectorAll('.rl-view details').forEach(each => { each.open = true })")
    for theme in THEMES:
        page.theme(theme)
        assert page.page.evaluate(TOO_WIDE) == []
        assert serious(page) == [], theme


def test_a_live_run_fits_a_narrow_window_and_axe_finds_nothing_serious(
    open_page: Callable[..., LabPage], lab: Lab
) -> None:
    cells = ("%load_ext reflect_lab", "%%reflect --model test-model\nName a colour.\n\n- [ ] it names a colour")
    (lab.files / "narrow.ipynb").write_text(json.dumps(notebook(*cells)))
    lab.server.add(Reply("Some words of a draft, then nothing more.", end="hang"))
    page = open_page(width=900, height=900).open("narrow.ipynb")
    page.run_cell(0)
    page.run_cell(1)
    page.page.locator(f"{LIVE_VIEW} .rl-stream pre", has_text="nothing more.").wait_for()
    for theme in THEMES:
        page.theme(theme)
        assert page.page.evaluate(TOO_WIDE) == []
        assert serious(page) == [], theme
    page.page.locator(f"{LIVE_VIEW} .rl-stop").click()
    page.wait_until_over(1)
