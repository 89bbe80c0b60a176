"""A real JupyterLab with the built extension and nothing of this machine's own settings."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TOKEN = "for-this-test-only"
FOLDERS = {
    "JUPYTER_PATH": "share/jupyter",
    "JUPYTER_CONFIG_DIR": "config",
    "JUPYTER_DATA_DIR": "data",
    "JUPYTER_RUNTIME_DIR": "runtime",
    "IPYTHONDIR": "ipython",
    "JUPYTERLAB_SETTINGS_DIR": "settings",
    "JUPYTERLAB_WORKSPACES_DIR": "workspaces",
}
NOTIFICATIONS = "settings/@jupyterlab/apputils-extension/notification.jupyterlab-settings"


@contextmanager
def running_lab(folder: Path) -> Iterator[str]:
    """The address of a JupyterLab that serves `folder/notebooks`, up until the block ends."""
    extensions = folder / "share" / "jupyter" / "labextensions"
    extensions.mkdir(parents=True)
    (extensions / "reflect-lab").symlink_to(ROOT / "reflect_lab" / "labextension")
    (folder / NOTIFICATIONS).parent.mkdir(parents=True)
    (folder / NOTIFICATIONS).write_text(json.dumps({"fetchNews": "false"}))
    environment = {**os.environ, **{name: str(folder / part) for name, part in FOLDERS.items()}}
    port = _free_port()
    command = [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", "--expose-app-in-browser"]
    command += ["--ip=127.0.0.1", f"--port={port}", "--ServerApp.port_retries=0"]
    command += [f"--IdentityProvider.token={TOKEN}", f"--ServerApp.root_dir={folder / 'notebooks'}"]
    with (folder / "lab.log").open("w") as log:
        process = subprocess.Popen(command, env=environment, stdout=log, stderr=subprocess.STDOUT)
    try:
        _wait_until_up(f"http://127.0.0.1:{port}/api/status?token={TOKEN}", process, folder / "lab.log")
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait_until_up(url: str, process: subprocess.Popen[bytes], log: Path, limit: float = 90) -> None:
    deadline = time.monotonic() + limit
    while time.monotonic() < deadline and process.poll() is None:
        try:
            with urllib.request.urlopen(url, timeout=2):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.2)
    raise RuntimeError(f"JupyterLab did not start:\n{log.read_text()[-3000:]}")
