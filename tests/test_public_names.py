"""What `import reflect_lab` gives, and what it costs."""

from __future__ import annotations

import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import reflect_lab
from reflect_lab import api
from tests.end_to_end.processes import environment
from tests.notebook.kernels import kernel

HEAVY = (
    "openai", "opentelemetry", "pydantic", "plotly", "duckdb", "ipywidgets", "anywidget", "jupyterlab", "scipy",
    "statsmodels", "genai_prices", "IPython", "markdown_it", "yaml", "asyncio",
)  # fmt: skip

MAX_MODULES = 40
"""Modules that loading the magics may add to a kernel."""


def test_the_public_names_are_a_short_sorted_list() -> None:
    names = reflect_lab.__all__
    assert names == sorted(set(names)) and len(names) <= 20
    assert names == api.__all__


@pytest.mark.parametrize("name", reflect_lab.__all__)
def test_a_public_name_is_there_and_documented(name: str) -> None:
    found = getattr(reflect_lab, name)
    assert inspect.getdoc(found)
    assert name in dir(reflect_lab)


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="reflekt"):
        _ = reflect_lab.reflekt


def loaded_by(code: str, folder: Path) -> set[str]:
    """The modules of a fresh process that code adds, by full name."""
    script = f"import sys\nbefore = set(sys.modules)\n{code}\nprint(*sorted(set(sys.modules) - before), sep='\\n')"
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, cwd=folder, env=environment(folder), capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_importing_the_package_loads_none_of_the_heavy_libraries(tmp_path: Path) -> None:
    loaded = loaded_by("import reflect_lab", tmp_path)
    assert {name.partition(".")[0] for name in loaded} & set(HEAVY) == set()
    assert "reflect_lab" in loaded and "reflect_lab.api" not in loaded


def test_a_misspelt_option_is_found_before_anything_heavy_is_loaded(tmp_path: Path) -> None:
    code = "from reflect_lab.cli.main import main\nassert main(['run', 'x.md', '--modle', 'x']) == 2"
    loaded = {name.partition(".")[0] for name in loaded_by(code, tmp_path)}
    assert loaded & {"openai", "opentelemetry", "pydantic", "plotly", "duckdb", "ipywidgets", "genai_prices"} == set()


def test_loading_the_magics_adds_few_modules_to_a_kernel(tmp_path: Path) -> None:
    with kernel(tmp_path) as started:
        started.good("import sys\nbefore = set(sys.modules)")
        started.good("%load_ext reflect_lab")
        added = eval(started.value("sorted(set(sys.modules) - before)"))
        assert len(added) <= MAX_MODULES, added
        assert {name.partition(".")[0] for name in added} & (set(HEAVY) - {"IPython", "asyncio"}) == set()
        assert "reflect_lab.notebook.extension" in added
