"""Makes the pictures of `docs/images` from the real product: JupyterLab in a headless browser, notebook 01, and a slow
model server. Needs `make setup` and a browser: `.venv/bin/python scripts/screenshots.py`.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from playwright.sync_api import sync_playwright  # noqa: E402

from tests.browser.page import LIVE_VIEW, LabPage, notebook, without_kernel  # noqa: E402
from tests.browser_finder import find_browser  # noqa: E402
from tests.frontend.lab import running_lab  # noqa: E402
from tests.frontend.viewer import ARGUMENTS  # noqa: E402
from tests.openai_server import OpenAITestServer, Reply  # noqa: E402

IMAGES = ROOT / "docs" / "images"
MOST_BYTES = 250_000
TOUR = 3
SLOW_ANSWER = """The library is closed on Monday 14 October because the boiler is replaced. Loans that end on that day
run until Wednesday, and the book drop at the side entrance stays open."""
LIVE_CELL = """%%reflect --model writer-1 --name notice
Write a notice of at most 25 words about the closing of the library.

> The library is closed on Monday 14 October, because the boiler is replaced.

- [ ] it names the day
- [ ] it names the reason
- [ ] it has at most 25 words
"""
FIRST_ANSWER = "The library will be closed soon. We are sorry for it and thank you for your patience."
CRITIQUE = {
    "issues": [
        {
            "id": "day",
            "severity": "blocking",
            "requirement": "R1",
            "location": "soon",
            "evidence": "The library is closed on Monday 14 October",
            "suggestion": "Name the day in place of “soon”.",
        },
        {
            "id": "reason",
            "severity": "blocking",
            "requirement": "R2",
            "location": None,
            "evidence": "because the boiler is replaced",
            "suggestion": "Say why.",
        },
    ],
    "score": 0.3,
    "requirements_checked": ["R1", "R2", "R3"],
}


def main() -> None:
    browser = find_browser()
    if browser is None:
        sys.exit("no Chromium or Chrome was found")
    IMAGES.mkdir(parents=True, exist_ok=True)
    with lab() as (address, files, server), sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=browser, args=ARGUMENTS)
        saved = first_run(opened, address, files)
        for theme in ("Light", "Dark"):
            reopened(opened, address, files, saved, theme)
            live(opened, address, files, server, theme)
        opened.close()


@contextmanager
def lab() -> Iterator[tuple[str, Path, OpenAITestServer]]:
    """A lab with settings, traces and a model server of its own."""
    # A short path: it stands in the pictures.
    folder = Path(tempfile.mkdtemp(prefix="reflect-lab-"))
    (folder / "notebooks").mkdir()
    shutil.copy(ROOT / "notebooks" / "01-first-run.ipynb", folder / "notebooks")
    with OpenAITestServer(models=("writer-1",)) as server:
        more = {"REFLECT_TRACES": "../traces", "OPENAI_BASE_URL": server.url, "PYTHONPATH": str(ROOT)}
        os.environ.update(more)
        with running_lab(folder) as address:
            yield address, folder / "notebooks", server
    shutil.rmtree(folder, ignore_errors=True)


def first_run(browser: Any, address: str, files: Path) -> dict[str, Any]:
    """The tour in JupyterLab, as the README shows it; gives the saved notebook."""
    page = LabPage(browser, address, files, width=1280, height=1320).open("01-first-run.ipynb")
    plain(page)
    for cell in (1, TOUR):
        page.run_cell(cell)
        page.wait_until_over(cell)
    page.view(TOUR).locator("[role=tab]").first.click()
    to_top(page, page.view(TOUR))
    keep(page, "first-run.png")
    document = page.save()
    page.close()
    return document


def reopened(browser: Any, address: str, files: Path, saved: dict[str, Any], theme: str) -> None:
    """The saved notebook in a page that can reach nothing but the lab, without a kernel."""
    (files / "reopened.ipynb").write_text(json.dumps(without_kernel(saved)), encoding="utf-8")
    page = LabPage(browser, address, files, width=1280, height=1200)
    page.block_other_origins()
    page.open("reopened.ipynb", kernel=False)
    plain(page)
    page.theme(theme)
    to_top(page, page.view(TOUR))
    keep(page, f"reopened-{theme.lower()}.png")
    page.close()


def live(browser: Any, address: str, files: Path, server: OpenAITestServer, theme: str) -> None:
    """A cell while it runs: the first round is over, the revision is being written."""
    (files / "live.ipynb").write_text(
        json.dumps(notebook("%load_ext reflect_lab", LIVE_CELL.strip())), encoding="utf-8"
    )
    server.add(Reply(FIRST_ANSWER), Reply(json.dumps(CRITIQUE)), Reply(SLOW_ANSWER.replace("\n", " "), end="hang"))
    page = LabPage(browser, address, files, width=1280, height=1200).open("live.ipynb")
    plain(page)
    page.theme(theme)
    for cell in (0, 1):
        page.run_cell(cell)
    page.page.locator(f"{LIVE_VIEW} .rl-stream pre", has_text="stays open").wait_for()
    keep(page, f"live-{theme.lower()}.png")
    page.page.locator(f"{LIVE_VIEW} .rl-stop").click()
    page.wait_until_over(1)
    page.close()


def plain(page: LabPage) -> None:
    """The notebook alone, without the file browser beside it."""
    page.command("application:toggle-left-area")


def to_top(page: LabPage, view: Any) -> None:
    view.evaluate("view => view.scrollIntoView({ block: 'start' })")
    page.page.mouse.move(0, 0)
    page.page.evaluate("document.activeElement?.blur()")


def keep(page: LabPage, name: str) -> None:
    """Stores what the window shows."""
    picture = page.page.screenshot(animations="disabled")
    (IMAGES / name).write_bytes(picture)
    if len(picture) > MOST_BYTES:
        sys.exit(f"{name} takes {len(picture):,} bytes, at most {MOST_BYTES:,} are allowed")
    print(f"{name}: {len(picture):,} bytes")


if __name__ == "__main__":
    main()
