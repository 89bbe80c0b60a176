"""One lab, one browser and one model server for all tests of this folder."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from reflect_lab.models import embedded
from tests.browser.page import LIVE_VIEW, LabPage
from tests.frontend.lab import ROOT, running_lab
from tests.openai_server import OpenAITestServer
from tests.required import missing


@dataclass(frozen=True)
class Lab:
    """A running JupyterLab: its address, the folder it serves, where its kernels' traces go, their model server."""

    address: str
    files: Path
    traces: Path
    server: OpenAITestServer


@dataclass(frozen=True)
class FirstRun:
    """Notebook 01 after Run All: its page, the saved file, and what its live view showed meanwhile."""

    page: LabPage
    document: dict[str, Any]
    live: list[dict[str, Any]]


TOUR, LOCAL, RUNS, ROUNDS, PLOT, CLAIMS = 3, 6, 9, 10, 11, 13
"""Where the cells of notebook 01 stand."""

WATCH_LIVE_VIEW = """live => {
  window.live = [];
  new MutationObserver(() => {
    const view = document.querySelector(live);
    if (view === null) return;
    const now = {
      step: view.querySelector('[role=status]').textContent,
      text: view.querySelector('.rl-stream pre')?.textContent ?? '',
      stop: view.querySelector('.rl-stop').textContent.trim()
    };
    if (JSON.stringify(now) !== JSON.stringify(window.live.at(-1))) window.live.push(now);
  }).observe(document.body, { subtree: true, childList: true, characterData: true });
}"""


@pytest.fixture(scope="package")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    pytest.importorskip("jupyterlab")
    if not (ROOT / "reflect_lab" / "labextension" / "package.json").exists():
        missing("browser", "the labextension is not built: run `make setup`")
    folder = tmp_path_factory.mktemp("lab")
    files = folder / "notebooks"
    files.mkdir()
    shutil.copy(ROOT / "notebooks" / "01-first-run.ipynb", files)
    traces = folder / "traces"
    with OpenAITestServer() as server, pytest.MonkeyPatch.context() as patch:
        patch.setenv("REFLECT_TRACES", str(traces))
        patch.setenv("OPENAI_BASE_URL", server.url)
        patch.setenv("PYTHONPATH", str(ROOT))
        for name in ("OPENAI_API_KEY", "OPENAI_MODEL", "OTEL_EXPORTER_OTLP_ENDPOINT"):
            patch.delenv(name, raising=False)
        with running_lab(folder) as address:
            yield Lab(address, files, traces, server)


@pytest.fixture
def open_page(browser: Any, lab: Lab) -> Iterator[Callable[..., LabPage]]:
    """Opens pages; at the end of the test they are closed and their kernels shut down."""
    pages: list[LabPage] = []

    def opened(**options: Any) -> LabPage:
        pages.append(LabPage(browser, lab.address, lab.files, **options))
        return pages[-1]

    yield opened
    for page in pages:
        page.close()


@pytest.fixture(scope="package")
def first_run(browser: Any, lab: Lab) -> Iterator[FirstRun]:
    """Notebook 01 of the repository, opened, run with Run All, saved, and left open with its kernel shut down."""
    if why := embedded.why_missing():
        missing("embedded", why)
    page = LabPage(browser, lab.address, lab.files).open("01-first-run.ipynb")
    page.page.evaluate(WATCH_LIVE_VIEW, LIVE_VIEW)
    page.run_all()
    page.wait_until_over(CLAIMS)
    document = page.save()
    page.command("kernelmenu:shutdown")
    yield FirstRun(page, document, page.page.evaluate("live"))
    page.close()
