"""Notebook 01 in JupyterLab, run as a newcomer runs it: Run → Run All Cells."""

from __future__ import annotations

import json
import re
from itertools import pairwise

import pytest

import reflect_lab as rl
from reflect_lab.core.run import Run
from reflect_lab.documents.bundle import MAX_BYTES, MIME
from reflect_lab.documents.run_document import dump_run, load_run
from tests.browser.conftest import CLAIMS, LOCAL, PLOT, ROUNDS, RUNS, TOUR, FirstRun, Lab
from tests.browser.page import bytes_of, code_cells

pytestmark = [pytest.mark.browser, pytest.mark.embedded]


def saved_run(first_run: FirstRun, cell: int) -> Run:
    data = first_run.document["cells"][cell]["outputs"][-1]["data"][MIME]
    assert data["left_out"] == []
    return load_run(data["run"])


def test_every_cell_runs_and_the_claims_hold(first_run: FirstRun) -> None:
    cells = code_cells(first_run.document)
    assert [cell["execution_count"] for cell in cells] == list(range(1, len(cells) + 1))
    assert [o["ename"] for cell in cells for o in cell["outputs"] if o["output_type"] == "error"] == []
    assert "tour: accepted" in first_run.page.outputs(CLAIMS).last.inner_text()
    assert first_run.page.seen.dialogs == [] and first_run.page.seen.errors == []


def test_the_tour_explains_first_and_shows_last(first_run: FirstRun) -> None:
    outputs = first_run.page.outputs(TOUR)
    assert outputs.count() == 2
    explained = outputs.first.inner_text()
    places = [explained.index(text) for text in ("Draft 0.", "Evidence.", "Critique.", "Decision.", "Draft 1.")]
    assert places == sorted(places)
    assert "3 of 4 checks passed" in explained and "4 of 4 checks passed" in explained
    assert outputs.last.locator(".rl-view").count() == 1


def test_the_tour_shows_two_drafts_their_diff_and_the_stop(first_run: FirstRun) -> None:
    view = first_run.page.view(TOUR)
    assert "Accepted on the evidence shown" in view.locator(".rl-title").inner_text()
    assert view.locator("[role=tab]").count() == 2
    assert view.locator("[role=tab][aria-selected=true]").inner_text().startswith("Round 1")
    assert [row.strip() for row in view.locator("ins").all_inner_texts()] == ["if not xs:", "return 0.0"]
    assert view.locator("del").count() == 0
    assert saved_run(first_run, TOUR).outcome.stop_reason == "pass"  # type: ignore[union-attr]


def test_the_first_round_quotes_the_failed_assert_and_keeps_the_discarded_issue(first_run: FirstRun) -> None:
    view = first_run.page.view(TOUR)
    view.locator("[role=tab]").first.click()
    check, critic = view.locator(".rl-issue.rl-blocking").all()
    assert "empty-list/case:1" in check.inner_text()
    assert check.locator("mark").inner_text() == "assert mean([]) == 0.0: raised ZeroDivisionError: division by zero"
    assert critic.locator("mark").inner_text() == "the empty list gives 0.0 and raises nothing"
    discarded = view.locator(".rl-discarded")
    assert discarded.locator("s").first.inner_text() == "major style"
    assert "quotes neither the task, a requirement, a fact nor a finding" in discarded.inner_text()
    where = view.locator(".rl-where").inner_text()
    assert re.match(r"Sandbox level [123] (process limits \(no isolation\)|kernel-confined|namespaced)", where)
    assert "the verdict was made outside of it" in where
    view.locator(".rl-where summary").click()
    opened = view.locator(".rl-where").inner_text()
    assert "The code could" in opened or "it could do what you can" in opened
    assert "time 10 s" in opened and "memory 1 GiB" in opened


def test_sql_counts_the_rounds_of_the_tour(first_run: FirstRun, lab: Lab) -> None:
    run = saved_run(first_run, TOUR)
    query = "select count(*) from rounds where run_id = ?"
    assert rl.open_traces(lab.traces).sql(query, [run.run_id]).rows == ((2,),)
    runs = first_run.page.outputs(RUNS).inner_text()
    assert "tour" in runs and "rewrite" in runs and "accepted" in runs
    rounds = first_run.page.outputs(ROUNDS).inner_text()
    assert rounds.count("tour") == 2 and "failed_evidence" in rounds


def test_the_plot_is_drawn(first_run: FirstRun) -> None:
    plot = first_run.page.outputs(PLOT)
    plot.locator(".main-svg").first.wait_for()
    boxes = [mark.bounding_box() for mark in plot.locator(".scatterlayer .point").all()]
    assert len(boxes) >= 2 and all(box["width"] > 2 for box in boxes)
    assert plot.locator(".barlayer .point").count() >= 1


def test_the_live_cell_streams_and_can_be_stopped_while_it_runs(first_run: FirstRun) -> None:
    live = first_run.live
    assert "writing the first draft" in [now["step"] for now in live]
    assert {now["stop"] for now in live} == {"Stop"}
    pairs = pairwise(live)
    grown = [b for a, b in pairs if a["step"] == b["step"] and a["text"] and b["text"].startswith(a["text"])]
    assert len(grown) >= 5, "text came piece by piece"


def test_the_live_cell_ends_as_a_static_view(first_run: FirstRun) -> None:
    outputs = first_run.page.outputs(LOCAL)
    assert outputs.count() == 1
    assert outputs.locator(".rl-stop, .jupyter-widgets").count() == 0
    assert outputs.locator(".rl-view").count() == 1
    assert "rl-output" in outputs.get_attribute("class"), "our own renderer shows it"
    (output,) = first_run.document["cells"][LOCAL]["outputs"]
    assert list(output["data"]) == [MIME, "text/html", "text/markdown", "text/plain"]
    assert "widgets" not in first_run.document["metadata"]


def test_the_view_of_the_live_run_tells_what_was_recorded(first_run: FirstRun, lab: Lab) -> None:
    run = saved_run(first_run, LOCAL)
    recorded = rl.open_traces(lab.traces).run(run.run_id)
    assert dump_run(recorded) == dump_run(run)
    view = first_run.page.view(LOCAL)
    banner = view.locator(".rl-banner").inner_text()
    assert recorded.outcome is not None and recorded.usage.input_tokens and recorded.usage.output_tokens
    assert f"{recorded.usage.input_tokens + recorded.usage.output_tokens:,} tokens" in banner
    assert f"{recorded.usage.calls} model call" in banner
    assert f"{len(recorded.rounds)} draft" in banner
    assert ("Accepted" in banner) == (recorded.outcome.stop_reason == "pass")
    assert view.locator("[role=tab]").count() == len(recorded.rounds)
    assert "local" in view.locator(".rl-origin").inner_text()


def test_no_cell_saves_more_than_its_share(first_run: FirstRun) -> None:
    sizes = {cell["id"]: sum(map(bytes_of, cell["outputs"])) for cell in code_cells(first_run.document)}
    assert max(sizes.values()) <= MAX_BYTES, sizes
    assert len(json.dumps(first_run.document)) < 2 * MAX_BYTES


def test_no_request_leaves_the_lab(first_run: FirstRun, lab: Lab) -> None:
    assert len(first_run.page.seen.requests) > 20
    assert first_run.page.seen.beyond(lab.address) == []
