"""The notebooks of the repository that need no model: each runs from its first cell to its own claims."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import duckdb
import nbformat
import pytest

from reflect_lab.documents.bundle import MAX_BYTES, MIME
from tests.browser.page import bytes_of
from tests.end_to_end.processes import environment

ROOT = Path(__file__).parents[2]
STOP_RULES = ROOT / "notebooks" / "02-stop-rules.ipynb"
SIGNALS = ROOT / "notebooks" / "03-what-the-critic-checks.ipynb"
DRAFTS = ROOT / "docs" / "signals"
EXAMPLES = ROOT / "docs" / "worked-examples"
RUN = re.compile(r"%%reflect --model scripted:\.\./docs/(?P<file>[\w/-]+)\.jsonl --name \w+ --out (?P<out>\w+)\n")


@pytest.fixture(scope="module")
def executed(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Notebook 02, executed by a real kernel where it stands."""
    return execute(STOP_RULES, tmp_path_factory.mktemp("executed"))


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Notebook 03, executed likewise."""
    return execute(SIGNALS, tmp_path_factory.mktemp("judged"))


def execute(notebook: Path, folder: Path) -> Any:
    """What a real kernel makes of all cells, with traces and the executed copy in `folder`."""
    words = ["nbconvert", "--to", "notebook", "--execute", notebook.name, "--output-dir", str(folder)]
    env = environment(folder, REFLECT_TRACES=str(folder / "traces"))
    done = subprocess.run(
        [sys.executable, "-m", *words], cwd=notebook.parent, env=env, capture_output=True, timeout=240
    )
    assert done.returncode == 0, done.stderr.decode()[-3000:]
    return nbformat.read(folder / notebook.name, 4)


def sources(notebook: Path) -> dict[str, str]:
    """The code cells of a notebook by id."""
    return {cell.id: cell.source for cell in nbformat.read(notebook, 4).cells if cell.cell_type == "code"}


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
    cells = [match for source in sources(STOP_RULES).values() if (match := RUN.match(source))]
    assert len(cells) == 13
    for match in cells:
        text = (ROOT / "docs" / f"{match['file']}.md").read_text(encoding="utf-8")
        kept = "\n".join(line for line in text.splitlines() if not line.startswith(("model:", "name:")))
        assert match.string[match.end() :] == kept.removeprefix("---\n---\n"), match["file"]


def test_the_claims_of_what_the_critic_checks_hold(judged: Any) -> None:
    assert "as claimed" in judged.cells[-1].outputs[0].text
    raised = [c.id for c in judged.cells for o in c.get("outputs", ()) if o.output_type == "error"]
    assert raised == []
    sizes = {cell.id: sum(map(bytes_of, cell.get("outputs", ()))) for cell in judged.cells}
    assert max(sizes.values()) <= MAX_BYTES, sizes


def test_the_table_and_the_chart_count_the_same_drafts(judged: Any) -> None:
    outputs = {cell.id: cell.outputs[0] for cell in judged.cells if cell.get("outputs")}
    rows = [line.strip("| ").split(" | ") for line in outputs["table"].data["text/markdown"].splitlines()[2:]]
    figure = outputs["chart"].data["application/vnd.plotly.v1+json"]
    said = [note["text"] for note in figure["layout"]["annotations"]]
    assert said == ["n = 7 wrong drafts", "n = 4 right drafts"]
    bars = {(bar["xaxis"], bar["name"]): bar["x"] for bar in figure["data"]}
    assert len(rows) == 11
    for panel, word, of in (("x", "caught", rows[:7]), ("x", "missed", rows[:7]), ("x2", "false alarm", rows[7:])):
        assert bars[panel, word] == [sum(word in row[column] for row in of) for column in range(2, 7)]
    for panel, of_all in (("x", 7), ("x2", 4)):
        stacks = zip(*(numbers for (axis, _), numbers in bars.items() if axis == panel), strict=True)
        assert [sum(stack) for stack in stacks] == [of_all] * 5


def test_it_is_said_of_every_pair_of_signals_that_the_drafts_are_too_few(judged: Any) -> None:
    (output,) = next(cell for cell in judged.cells if cell.id == "few").outputs
    assert [line.endswith("too few to tell") for line in output.text.splitlines()] == [True] * 10


def test_every_draft_of_the_folder_is_judged_once_and_has_one_reply_of_the_critic() -> None:
    files = sorted(DRAFTS.glob("*.jsonl"))
    named = re.findall(r'^    "((?:letter|mean|query)-[\w-]+)": "', sources(SIGNALS)["drafts"], re.MULTILINE)
    assert sorted(named) == [file.stem for file in files]
    for file in files:
        roles = [json.loads(line)["role"] for line in file.read_text(encoding="utf-8").splitlines()]
        assert roles == ["generator", "critic"], file.name


def test_the_faults_of_the_drafts_are_faults() -> None:
    """Without any check: the letters by their words, the functions by calls, the queries by the summary of finance."""
    days = {
        name: re.findall(r"\d\d/\d\d/2026", draft(f"letter-{name}")) for name in ("right", "wrong-date", "last-day")
    }
    assert days == {"right": ["04/08/2026"], "wrong-date": ["05/08/2026"], "last-day": ["04/08/2026", "19/08/2026"]}
    assert date(2026, 8, 4) + timedelta(days=15) == date(2026, 8, 19)
    assert "Rs 250" in draft("letter-postage") and "250" not in (DRAFTS / "letter.md").read_text(encoding="utf-8")
    assert "days" in draft("letter-right") and "days" not in draft("letter-no-deadline")

    means = {name: mean_of(draft(f"mean-{name}")) for name in ("right", "empty", "whole")}
    assert (means["right"]([1, 2]), means["right"]([])) == (1.5, 0.0)
    assert means["whole"]([1, 2]) == 1
    with pytest.raises(ZeroDivisionError):
        means["empty"]([])

    with duckdb.connect(":memory:") as connection:
        connection.execute((EXAMPLES / "warehouse.sql").read_text(encoding="utf-8"))
        (wanted,) = connection.execute(
            "SELECT sum(revenue) FROM (SELECT sum(revenue) AS revenue FROM daily_revenue "
            "WHERE day >= DATE '2026-06-24' GROUP BY country ORDER BY 1 DESC LIMIT 5)"
        ).fetchall()[0]
        totals = {
            name: sum(revenue for _, revenue in connection.execute(draft(f"query-{name}")).fetchall()) / wanted
            for name in ("right", "join", "no-filter")
        }
    assert totals["right"] == pytest.approx(1, abs=0.001)
    assert totals["join"] == pytest.approx(3, abs=0.2) and totals["no-filter"] > 5


def draft(name: str) -> str:
    """The draft of a script, without its fence."""
    text = json.loads((DRAFTS / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()[0])["text"]
    fenced = re.fullmatch(r"```\w+\n(.*)\n```", text, re.DOTALL)
    return str(fenced[1] if fenced else text)


def mean_of(code: str) -> Any:
    names: dict[str, Any] = {}
    exec(code, names)  # text of this repository
    return names["mean"]


def test_the_cells_about_signals_are_parts_of_the_files() -> None:
    """One task in two places, but for paths and what a cell leaves out on purpose."""
    cells = {name: source.partition("\n")[2] for name, source in sources(SIGNALS).items() if source.startswith("%%")}
    tasks = {name: (DRAFTS / f"{name}.md").read_text(encoding="utf-8") for name in ("letter", "mean", "query")}
    for name, task in {"unjudged": "letter", "listed": "letter", "compared": "letter", "tested": "mean"}.items():
        whole = tasks[task].rstrip().split("\n\n")
        parts = cells[name].split("\n\n")
        assert parts == [part for part in whole if part in parts], name
    assert cells["whole"].replace("assert mean([1, 2]) == 1.5\n", "") == cells["tested"]
    revenue = (EXAMPLES / "revenue.md").read_text(encoding="utf-8")
    plain = re.sub(r"^(name|model):.*\n", "", revenue, flags=re.MULTILINE).rstrip()
    here, there = "database: warehouse.sql", "database: ../{}worked-examples/warehouse.sql"
    assert cells["revenue"] == plain.replace(here, there.format("docs/"))
    unlabelled = re.sub(r"^ +requirements: .*\n", "", plain, flags=re.MULTILINE)
    assert tasks["query"].rstrip() == unlabelled.replace(here, there.format(""))


@pytest.mark.parametrize("path", sorted((ROOT / "notebooks").glob("*.ipynb")), ids=lambda path: path.stem)
def test_notebooks_are_kept_without_outputs(path: Path) -> None:
    for cell in nbformat.read(path, 4).cells:
        if cell.cell_type == "code":
            assert cell.outputs == [] and cell.execution_count is None, cell.id
