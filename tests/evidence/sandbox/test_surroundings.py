"""What surrounds a caged process."""

from __future__ import annotations

import os
import py_compile
from pathlib import Path

from reflect_lab.evidence.sandbox import cage
from reflect_lab.evidence.sandbox.levels import PROCESS
from reflect_lab.evidence.sandbox.limits import Limits
from reflect_lab.evidence.sandbox.surroundings import compiled

PROGRAM = "import json, os, sys\njob = json.load(sys.stdin)\nanswer = {'nonce': job['nonce'], 'said': SAID}\n"
PROGRAM += "os.write(int(sys.argv[1]), json.dumps(answer).encode() + b'\\n')\n"


def program(folder: Path, said: str) -> Path:
    path = folder / "program.py"
    path.write_text(PROGRAM.replace("SAID", repr(said)))
    return path


def said(path: Path) -> object:
    return cage.run_blocking(path, {}, Limits(), level=PROCESS).answers[0]["said"]


def test_a_program_runs_in_its_compiled_form_where_that_is_of_the_same_text(tmp_path: Path) -> None:
    path = program(tmp_path, "old")
    assert compiled(path) == path
    left = Path(py_compile.compile(str(path), invalidation_mode=py_compile.PycInvalidationMode.TIMESTAMP) or "")
    assert compiled(path) == left and said(path) == "old"

    text = path.stat()
    program(tmp_path, "new")
    os.utime(path, (text.st_atime, text.st_mtime + 1))
    assert compiled(path) == path and said(path) == "new"


def test_a_compiled_form_that_is_no_such_thing_is_not_used(tmp_path: Path) -> None:
    path = program(tmp_path, "text")
    left = Path(py_compile.compile(str(path), invalidation_mode=py_compile.PycInvalidationMode.TIMESTAMP) or "")
    left.write_bytes(b"short")
    assert compiled(path) == path and said(path) == "text"
    py_compile.compile(str(path), invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)
    assert compiled(path) == path
