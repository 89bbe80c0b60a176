"""What a user does with a notebook in JupyterLab, and what the browser does meanwhile."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tests.frontend.lab import TOKEN

VIEW = ".jp-OutputArea-output .rl-view"
LIVE_VIEW = f"{VIEW}:has(.rl-stop)"
KERNEL_IS_IDLE = """() => {
  const kernel = window.jupyterapp?.shell?.currentWidget?.sessionContext?.session?.kernel;
  return kernel?.connectionStatus === 'connected' && kernel.status === 'idle'
    && document.querySelectorAll('.jp-Notebook .jp-Cell').length > 0;
}"""
HAS_FOCUS = """index => {
  const cell = document.activeElement?.closest('.jp-Cell');
  return cell?.dataset.windowedListIndex === String(index) && cell.classList.contains('jp-mod-active');
}"""
SLOW = 120_000
"""Milliseconds that anything may take on a machine where other tests run."""


@dataclass
class Seen:
    """What left the page and what broke in it, since it was opened."""

    requests: list[str] = field(default_factory=list)
    dialogs: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    def beyond(self, origin: str) -> list[str]:
        """The requests to anywhere but `origin`."""
        own = urlsplit(origin).netloc
        return [url for url in self.requests if url.startswith(("http", "ws")) and urlsplit(url).netloc != own]


class LabPage:
    """One browser page on one notebook. `files` is the folder that the lab serves."""

    def __init__(self, browser: Any, address: str, files: Path, *, width: int = 1300, height: int = 1000) -> None:
        self.context = browser.new_context(viewport={"width": width, "height": height})
        self.page = self.context.new_page()
        self.address = address
        self.files = files
        self.name = ""
        self.has_kernel = False
        self.seen = Seen()
        self.page.set_default_timeout(SLOW)
        self.page.on("request", lambda request: self.seen.requests.append(request.url))
        self.page.on("websocket", lambda socket: self.seen.requests.append(socket.url))
        self.page.on("pageerror", lambda error: self.seen.errors.append(str(error)))
        self.page.on("dialog", self._dismiss)

    def _dismiss(self, dialog: Any) -> None:
        if dialog.type != "beforeunload":
            self.seen.dialogs.append(dialog.message)
        dialog.dismiss()

    def block_other_origins(self) -> None:
        """From now on nothing but the lab itself can be reached."""
        own = urlsplit(self.address).netloc
        self.context.route(
            "**/*", lambda route: route.continue_() if urlsplit(route.request.url).netloc == own else route.abort()
        )

    def open(self, name: str, *, kernel: bool = True) -> LabPage:
        """Opens a notebook and waits until its kernel is idle, or until it is there without one."""
        self.name, self.has_kernel = name, kernel
        self.page.goto(f"{self.address}/lab/tree/{name}?token={TOKEN}&reset")
        if kernel:
            self.page.wait_for_function(KERNEL_IS_IDLE)
        else:
            self.page.locator(".jp-Dialog button:has-text('No Kernel')").click()
            self.page.wait_for_selector(".jp-Notebook .jp-Cell")
        return self

    def close(self) -> None:
        if self.has_kernel:
            self.command("kernelmenu:shutdown")
        self.context.close()

    def command(self, name: str, **arguments: Any) -> Any:
        return self.page.evaluate("([name, all]) => jupyterapp.commands.execute(name, all)", [name, arguments])

    def theme(self, name: str) -> None:
        """`Light` or `Dark`, as the Settings menu sets it."""
        self.command("apputils:change-theme", theme=f"JupyterLab {name}")
        self.page.wait_for_selector(f"body[data-jp-theme-light='{str(name == 'Light').lower()}']", state="attached")

    def cell(self, index: int) -> Any:
        """A cell, brought into the window: the lab draws no others."""
        cell = self.page.locator(f".jp-Notebook .jp-Cell[data-windowed-list-index='{index}']")
        cell.scroll_into_view_if_needed()
        self.page.evaluate("new Promise(drawn => requestAnimationFrame(() => requestAnimationFrame(drawn)))")
        return cell

    def outputs(self, index: int) -> Any:
        return self.cell(index).locator(".jp-OutputArea-output")

    def view(self, index: int) -> Any:
        """The run that a cell shows."""
        return self.cell(index).locator(VIEW)

    def run_all(self) -> None:
        """Run → Run All Cells, with the mouse."""
        self.page.locator(".lm-MenuBar-itemLabel:text-is('Run')").click()
        self.page.locator(".lm-Menu-itemLabel:text-is('Run All Cells')").click()

    def run_cell(self, index: int) -> None:
        """Shift+Enter in a cell that did not run yet."""
        cell = self.cell(index)
        cell.locator(".cm-content").click()
        # After an earlier Shift+Enter the lab itself moves on, which may come later than the click.
        self.page.wait_for_function(HAS_FOCUS, arg=index)
        self.page.keyboard.press("Shift+Enter")
        cell.locator(".jp-InputPrompt:not(:text-is('[ ]:'))").wait_for(state="attached")

    def wait_until_over(self, index: int) -> None:
        """Until a cell that was run has its number: it came to its end."""
        self.page.wait_for_function(
            """index => {
              const cell = document.querySelector(`.jp-Notebook .jp-Cell[data-windowed-list-index='${index}']`);
              return /\\[\\d+\\]/.test(cell?.querySelector('.jp-InputPrompt')?.textContent ?? '');
            }""",
            arg=index,
            timeout=4 * SLOW,
        )

    def save(self) -> dict[str, Any]:
        """Saves the notebook, and gives what the file then holds."""
        self.command("docmanager:save")
        document: dict[str, Any] = json.loads((self.files / self.name).read_text(encoding="utf-8"))
        return document


def notebook(*sources: str) -> dict[str, Any]:
    """A notebook of code cells, for the usual kernel."""
    cells: list[dict[str, Any]] = [
        {"id": f"cell-{n}", "cell_type": "code", "metadata": {}, "source": text, "outputs": [], "execution_count": None}
        for n, text in enumerate(sources)
    ]
    kernelspec = {"name": "python3", "display_name": "Python 3", "language": "python"}
    metadata = {"kernelspec": kernelspec, "language_info": {"name": "python"}}
    return {"nbformat": 4, "nbformat_minor": 5, "metadata": metadata, "cells": cells}


def without_kernel(document: dict[str, Any]) -> dict[str, Any]:
    """The same notebook in a language that has no kernel here."""
    kernelspec = {"name": "no-such-kernel", "display_name": "none", "language": "none"}
    metadata = {**document["metadata"], "kernelspec": kernelspec, "language_info": {"name": "none"}}
    return {**document, "metadata": metadata}


def code_cells(document: dict[str, Any]) -> list[dict[str, Any]]:
    return [cell for cell in document["cells"] if cell["cell_type"] == "code"]


def bytes_of(output: dict[str, Any]) -> int:
    """Bytes that an output takes in the notebook file."""
    return len(json.dumps(output, ensure_ascii=False).encode("utf-8", "surrogatepass"))
