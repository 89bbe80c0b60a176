"""The notebooks of the repository that need no model: each runs from its first cell to its own claims."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import nbformat
import pytest

from reflect_lab.documents.bundle import MAX_BYTES, MIME
from tests.browser.page import bytes_of
from tests.end_to_end.processes import environment

ROOT = Path(__file__).parents[2]
STOP_RULES = ROOT / "notebooks" / "02-stop-rules.ipynb"
RUN = re.compile(r"%%reflect --model scripted:\.\./docs/(?P<file>[\w/-]+)\.jsonl --name \w+ --out (?P<out>\w+)\n")


@pytest.fixture(scope="module")
def executed(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Notebook 02, executed by a real kernel where it stands."""
    folder = tmp_path_factory.mktemp("executed")
    words = ["nbconvert", "--to", "notebook", "--execute", STOP_RULES.name, "--output-dir", str(folder)]
    env = environment(folder, REFLECT_TRACES=str(folder / "traces"))
    done = subprocess.run(
        [sys.executable, "-m", *words], cwd=STOP_RULES.parent, env=env, capture_output=True, timeout=240
    )
    assert done.returncode == 0, done.stderr.decode()[-3000:]
    return nbformat.read(folder / STOP_RULES.name, 4)


def sources() -> dict[str, str]:
    """The code cells of notebook 02 by id."""
    return {cell.id: cell.source for cell in nbformat.read(STOP_RULES, 4).cells if cell.cell_type == "code"}


def shown(notebook: Any) -> dict[str, dict[str, Any]]:
    """The run that each cell shows, by the cell's id."""
    found = {}
    for cell in notebook.cells:
        for output in cell.get("outputs", ()):
            if MIME in output.get("data", {}):
                found[cell.id] = output.data[MIME]["run"]
    return found


def test_the_claims_of_the_stop_rules_hold(executed: Any) -> None:
    last = executed.cells[-1]
    assert "as claimed" in last.outputs[0].text


def test_each_stop_reason_is_shown_in_the_order_of_a_lesson(executed: Any) -> None:
    reasons = [run["outcome"]["stop_reason"] for run in shown(executed).values()]
    assert reasons == [
        "pass", "unverified", "invalid_critique", "no_signal", "no_change", "oscillating", "repeated_failure",
        "stalled", "budget", "denied", "error", "cancelled",
        "pass", "pass",  # the record that is replayed, and the letter
    ]  # fmt: skip


def test_only_the_cell_that_shows_an_error_raises(executed: Any) -> None:
    raised = [c.id for c in executed.cells for o in c.get("outputs", ()) if o.output_type == "error"]
    assert raised == ["failed"]


def test_no_cell_saves_more_than_its_share(executed: Any) -> None:
    sizes = {cell.id: sum(map(bytes_of, cell.get("outputs", ()))) for cell in executed.cells}
    assert max(sizes.values()) <= MAX_BYTES, sizes


def test_the_plot_says_how_much_it_rests_on_and_where_the_record_ends(executed: Any) -> None:
    (output,) = next(cell for cell in executed.cells if cell.id == "plot").outputs
    figure = output.data["application/vnd.plotly.v1+json"]
    assert "n = 1 run, 5 drafts" in figure["layout"]["title"]["text"]
    told = [note["text"] for note in figure["layout"]["annotations"]]
    assert any(note.startswith("one problem at a time: unknown") for note in told)


def test_the_cells_are_those_of_the_files_beside_their_scripts() -> None:
    cells = [match for source in sources().values() if (match := RUN.match(source))]
    assert len(cells) == 13
    for match in cells:
        text = (ROOT / "docs" / f"{match['file']}.md").read_text(encoding="utf-8")
        kept = "\n".join(line for line in text.splitlines() if not line.startswith(("model:", "name:")))
        assert match.string[match.end() :] == kept.removeprefix("---\n---\n"), match["file"]


@pytest.mark.parametrize("path", sorted((ROOT / "notebooks").glob("*.ipynb")), ids=lambda path: path.stem)
def test_notebooks_are_kept_without_outputs(path: Path) -> None:
    for cell in nbformat.read(path, 4).cells:
        if cell.cell_type == "code":
            assert cell.outputs == [] and cell.execution_count is None, cell.id
