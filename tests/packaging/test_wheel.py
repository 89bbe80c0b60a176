"""What a wheel holds, built from this checkout."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from email.message import Message
from email.parser import Parser
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SHARED = "reflect_lab-0.1.0.data/data/share/jupyter/labextensions/reflect-lab"
NOT_SHIPPED = {"__pycache__"}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    subprocess.run([*pip, "--wheel-dir", folder, ROOT], check=True, env=environment)
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def names(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


@pytest.fixture(scope="module")
def about(wheel: Path) -> Message:
    with zipfile.ZipFile(wheel) as archive:
        return Parser().parsestr(archive.read("reflect_lab-0.1.0.dist-info/METADATA").decode())


def test_holds_every_file_of_the_package_data_and_built_front_end_included(names: set[str]) -> None:
    files = (file for file in (ROOT / "reflect_lab").rglob("*") if file.is_file())
    wanted = {file.relative_to(ROOT).as_posix() for file in files if not NOT_SHIPPED & set(file.parts)}
    assert {"reflect_lab/static/widget.js", "reflect_lab/labextension/package.json"} <= wanted
    assert any(name.startswith("reflect_lab/roles/prompts/") for name in wanted)
    assert wanted - names == set()


def test_puts_the_labextension_where_jupyterlab_looks(wheel: Path, names: set[str]) -> None:
    assert f"{SHARED}/install.json" in names
    with zipfile.ZipFile(wheel) as archive:
        extension = json.loads(archive.read(f"{SHARED}/package.json"))
    assert f"{SHARED}/{extension['jupyterlab']['_build']['load']}" in names


def test_holds_nothing_but_the_package(names: set[str]) -> None:
    tops = {name.split("/")[0] for name in names}
    assert tops == {"reflect_lab", "reflect_lab-0.1.0.dist-info", "reflect_lab-0.1.0.data"}


def test_says_nothing_of_the_machine_that_built_it(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        leaks = [name for name in archive.namelist() if str(ROOT).encode() in archive.read(name)]
    assert leaks == []


def test_the_kernel_half_asks_for_no_jupyterlab(about: Message) -> None:
    required = [text for text in about.get_all("Requires-Dist") or [] if "extra ==" not in text]
    assert any(text.startswith("openai") for text in required)
    assert not [
        text for text in required if text.startswith(("jupyterlab>", "jupyterlab=", "jupyter-server", "notebook"))
    ]


KERNEL_HALF = """
import importlib, pkgutil, sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {"jupyterlab", "jupyter_server", "notebook"}:
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Absent())
import reflect_lab
for module in pkgutil.walk_packages(reflect_lab.__path__, "reflect_lab."):
    if not module.name.startswith(("reflect_lab.server", "reflect_lab.__main__")):
        importlib.import_module(module.name)
        print(module.name)
"""


def test_every_module_of_the_kernel_half_loads_without_jupyterlab() -> None:
    done = subprocess.run([sys.executable, "-c", KERNEL_HALF], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "reflect_lab.core.run" in done.stdout.split()


@pytest.mark.slow
def test_an_installed_wheel_runs_without_the_checkout_and_without_jupyterlab(wheel: Path, tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "env"], check=True)
    python = tmp_path / "env" / "bin" / "python"
    pip = [python, "-m", "pip", "install", "--quiet", "--constraint", ROOT / "constraints.txt"]
    subprocess.run([*pip, wheel], check=True)
    packages = subprocess.run([python, "-m", "pip", "list"], check=True, capture_output=True, text=True).stdout
    assert "reflect-lab" in packages
    assert "jupyterlab " not in packages and "jupyter_server " not in packages
    command = [tmp_path / "env" / "bin" / "reflect-lab", "doctor"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
