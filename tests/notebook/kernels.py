"""A real kernel and a front end for it that keeps what a notebook would save."""

from __future__ import annotations

import queue
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
from jupyter_client.manager import KernelManager

from tests.end_to_end.processes import environment

WAIT_S = 60.0
"""Seconds that a cell may take on a busy machine."""

WIDGET = "application/vnd.jupyter.widget-view+json"
MIME = "application/vnd.reflectlab.run+json"


class Kernel:
    """One running kernel and its client."""

    def __init__(self, manager: KernelManager) -> None:
        self.manager = manager
        self.client = manager.blocking_client()
        self.client.start_channels()
        self.client.wait_for_ready(timeout=WAIT_S)
        self.pid = psutil.Process(manager.provisioner.process.pid).pid

    def start(self, code: str) -> Cell:
        """Sends a cell; it runs while the test goes on."""
        return Cell(self, self.client.execute(code, store_history=True))

    def run(self, code: str) -> Cell:
        """Runs a cell to its end."""
        return self.start(code).finish()

    def good(self, code: str) -> Cell:
        """Runs a cell that must succeed."""
        cell = self.run(code)
        assert cell.status == "ok", cell.said
        return cell

    def value(self, expression: str) -> str:
        """The text of an expression in the kernel."""
        cell = self.good(expression)
        return str(cell.outputs[-1]["data"]["text/plain"])

    def send_to_widget(self, comm_id: str, content: Mapping[str, Any]) -> None:
        """What a click in the page sends."""
        data = {"method": "custom", "content": dict(content)}
        message = self.client.session.msg("comm_msg", {"comm_id": comm_id, "data": data})
        self.client.shell_channel.send(message)

    def interrupt(self) -> None:
        self.manager.interrupt_kernel()


@dataclass
class Cell:
    """A cell that was sent: every message of it so far, and the outputs as a front end shows them."""

    kernel: Kernel
    msg_id: str
    messages: list[dict[str, Any]] = field(default_factory=list)
    outputs: list[dict[str, Any]] = field(default_factory=list)
    reply: dict[str, Any] = field(default_factory=dict)
    replied_at: float = 0.0

    @property
    def status(self) -> str:
        return str(self.reply["status"])

    @property
    def said(self) -> str:
        """What the cell printed, then its error as it is shown."""
        text = "".join(output["text"] for output in self.outputs if output["output_type"] == "stream")
        return text + "".join("\n".join(o["traceback"]) for o in self.outputs if o["output_type"] == "error")

    @property
    def errors(self) -> list[list[str]]:
        """The lines of each error as it is shown."""
        return [output["traceback"] for output in self.outputs if output["output_type"] == "error"]

    @property
    def shown(self) -> list[dict[str, Any]]:
        """The data of each display and of the value, by MIME type."""
        return [output["data"] for output in self.outputs if "data" in output]

    @property
    def document(self) -> dict[str, Any]:
        """The one run that the cell shows in the end."""
        (data,) = (data for data in self.shown if MIME in data)
        found = data[MIME]["run"]
        assert isinstance(found, dict)
        return found

    def until(self, done: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """Reads on until a message fits."""
        deadline = time.monotonic() + WAIT_S
        while time.monotonic() < deadline:
            message = self.kernel.client.get_iopub_msg(timeout=WAIT_S)
            if message["parent_header"].get("msg_id") != self.msg_id:
                continue
            self.messages.append(message)
            self._show(message)
            if done(message):
                return message
        raise TimeoutError(f"no such message within {WAIT_S:g} s; so far: {[m['msg_type'] for m in self.messages]}")

    def until_widget(self) -> str:
        """Reads on until the live view is there; answers with its comm's id."""
        opened = self.until(lambda m: m["msg_type"] == "comm_open" and "_esm" in m["content"]["data"]["state"])
        return str(opened["content"]["comm_id"])

    def finish(self) -> Cell:
        """Reads to the end of the cell."""
        self._await_reply()
        self.until(lambda m: m["msg_type"] == "status" and m["content"]["execution_state"] == "idle")
        return self

    def _await_reply(self) -> None:
        deadline = time.monotonic() + WAIT_S
        while time.monotonic() < deadline:
            try:
                message = self.kernel.client.get_shell_msg(timeout=WAIT_S)
            except queue.Empty:
                break
            if message["parent_header"].get("msg_id") == self.msg_id:
                self.reply, self.replied_at = message["content"], time.monotonic()
                return
        raise TimeoutError(f"the cell did not end within {WAIT_S:g} s")

    def _show(self, message: dict[str, Any]) -> None:
        kind, content = message["msg_type"], message["content"]
        if kind in ("stream", "display_data", "execute_result", "error"):
            self.outputs.append({"output_type": kind, **content})
        elif kind == "update_display_data":
            for output in self.outputs:
                if output.get("transient", {}).get("display_id") == content["transient"]["display_id"]:
                    output["data"] = content["data"]


@contextmanager
def kernel(folder: Path, **env: str) -> Iterator[Kernel]:
    """A kernel of this very Python in a folder outside any project, with a clean environment."""
    manager = KernelManager()
    manager.start_kernel(extra_arguments=["--log-level=ERROR"], cwd=str(folder), env=environment(folder, **env))
    try:
        yield Kernel(manager)
    finally:
        manager.shutdown_kernel(now=True)
        manager.cleanup_resources()
