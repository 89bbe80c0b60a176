"""When the front end is built, and when not. npm is a stand-in that writes down how it was called."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NPM = """#!/bin/sh
echo "$1" >> ../npm-calls
case "$1" in
    ci) mkdir -p node_modules ;;
    run) test -e fail && exit 3
         mkdir -p ../reflect_lab/labextension ../reflect_lab/static lib
         cp src/index.ts ../reflect_lab/static/widget.js
         echo '{}' > ../reflect_lab/labextension/package.json ;;
esac
"""


class Checkout:
    def __init__(self, root: Path) -> None:
        self.root = root
        self.source = root / "labextension"
        self.widget = root / "reflect_lab" / "static" / "widget.js"
        (self.source / "src").mkdir(parents=True)
        (root / "reflect_lab").mkdir()
        (root / "scripts").mkdir()
        (root / "bin").mkdir()
        shutil.copy(ROOT / "scripts" / "build_frontend.py", root / "scripts")
        (root / "bin" / "npm").write_text(NPM)
        (root / "bin" / "npm").chmod(0o755)
        (self.source / "package-lock.json").write_text("{}")
        (self.source / "src" / "index.ts").write_text("one")

    def build(self) -> tuple[int, list[str]]:
        """The exit code of a build and how npm was called for it."""
        calls = self.root / "npm-calls"
        calls.unlink(missing_ok=True)
        command = [sys.executable, self.root / "scripts" / "build_frontend.py"]
        environment = {**os.environ, "PATH": f"{self.root / 'bin'}{os.pathsep}{os.environ['PATH']}"}
        code = subprocess.run(command, env=environment, capture_output=True, check=False).returncode
        return code, calls.read_text().split() if calls.exists() else []


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    checkout = Checkout(tmp_path)
    assert checkout.build() == (0, ["ci", "run"])
    return checkout


def test_nothing_is_done_while_nothing_changed(checkout: Checkout) -> None:
    assert checkout.build() == (0, [])


def test_a_changed_source_is_built_without_installing_again(checkout: Checkout) -> None:
    (checkout.source / "src" / "index.ts").write_text("two")
    assert checkout.build() == (0, ["run"])
    assert checkout.widget.read_text() == "two"


def test_a_removed_source_is_a_change(checkout: Checkout) -> None:
    (checkout.source / "src" / "other.ts").write_text("other")
    checkout.build()
    (checkout.source / "src" / "other.ts").unlink()
    assert checkout.build() == (0, ["run"])


def test_a_changed_lock_file_installs_and_builds(checkout: Checkout) -> None:
    (checkout.source / "package-lock.json").write_text("{ }")
    assert checkout.build() == (0, ["ci", "run"])


def test_what_the_build_itself_writes_and_tests_are_no_source(checkout: Checkout) -> None:
    for folder in ("lib", "node_modules", "test"):
        (checkout.source / folder).mkdir(exist_ok=True)
        (checkout.source / folder / "file.js").write_text("new")
    assert checkout.build() == (0, [])


def test_lost_outputs_are_built_again(checkout: Checkout) -> None:
    shutil.rmtree(checkout.root / "reflect_lab" / "labextension")
    assert checkout.build() == (0, ["run"])


def test_a_failed_build_leaves_no_stale_bundle_and_is_tried_again(checkout: Checkout) -> None:
    (checkout.source / "src" / "index.ts").write_text("broken")
    (checkout.source / "fail").touch()
    assert checkout.build() == (1, ["run"])
    assert not checkout.widget.exists()
    (checkout.source / "fail").unlink()
    assert checkout.build() == (0, ["run"])
