"""The built view in a real browser: what it shows, keys, live text, Stop."""

from __future__ import annotations

import re
from typing import Any

import pytest

from reflect_lab.core.events import Cancelled
from reflect_lab.core.reducer import after
from reflect_lab.documents.run_document import dump_run
from tests.core.simulate import CHECKED_TASK, Turn, play, policy, prefixes, reply, report, row
from tests.frontend.viewer import LIVE, stored

pytestmark = pytest.mark.browser


def test_an_accepted_run_says_on_what_and_shows_its_returned_draft(open_viewer: Any) -> None:
    page = open_viewer().show(stored("accepted"))
    banner = page.locator(".rl-banner").inner_text()
    assert "Accepted on the evidence shown" in banner
    assert "correct" not in page.locator(".rl-view").inner_text().lower()
    assert "score" in banner and "0.95" in banner
    assert "2,154 tokens" in banner and "unpriced" in banner
    assert page.locator("[role=tab][aria-selected=true]").inner_text().startswith("Round 1")
    added = page.locator(".rl-row.rl-added").all_inner_texts()
    assert any("return 0.0" in row for row in added)
    assert page.locator(".rl-solved").count() == 3
    assert "process limits (no isolation)" in page.locator(".rl-evidence").inner_text()
    assert "could have forged the verdict" in page.locator(".rl-evidence").inner_text()
    assert "traces/ of this project" in page.locator(".rl-origin").inner_text()


def test_the_first_round_shows_the_failing_case_quoted_and_the_discarded_issue_with_why(open_viewer: Any) -> None:
    page = open_viewer().show(stored("accepted"))
    page.locator("[role=tab]").first.click()
    case = page.locator(".rl-issue.rl-blocking").first
    assert "python:1/case:3" in case.inner_text()
    assert case.locator("mark").inner_text() == "mean([]) == 0.0"
    assert "quotes the report of python:1" in case.inner_text()
    discarded = page.locator(".rl-discarded")
    assert "no ground: its quote stands in no source" in discarded.inner_text()
    assert discarded.locator("s").first.inner_text() == "major style"
    assert page.locator(".rl-fold").count() == 0
    case.get_by_role("button", name="line 9").click()
    assert page.evaluate("document.activeElement.dataset.line") == "9"


def test_evidence_of_a_function_of_the_users_says_that_it_is_trusted(open_viewer: Any) -> None:
    run = stored("accepted")
    (last, *_), *_ = [r["evidence"] for r in run["rounds"][-1:]]
    last["provenance"] = {"trust": "trusted: a function of this process, not confined"}
    page = open_viewer().show(run)
    head = page.locator(".rl-piece-head").first.inner_text()
    assert "trusted, not confined" in head
    assert page.get_by_text("trusted, not confined", exact=True).count() == 1


def test_ends_differ_in_words_and_signs_and_not_by_colour_alone(open_viewer: Any) -> None:
    seen = {}
    viewer = open_viewer()
    for name in ("accepted", "stalled", "cancelled", "error", "unfinished"):
        run = stored(name) if name != "unfinished" else {**stored("accepted"), "outcome": None}
        page = viewer.show(run)
        sign = page.locator(".rl-disc svg path").get_attribute("d")
        seen[name] = (page.locator(".rl-badge-tone").inner_text(), sign)
    assert len({words for words, _ in seen.values()}) == 5
    assert len({sign for _, sign in seen.values()}) == 5
    assert seen["stalled"][0] == "a person must decide"


def test_unknown_and_not_recorded_are_neither_zero_nor_none(open_viewer: Any) -> None:
    run = stored("stalled")
    run["rounds"][2]["critique"] = None
    run["not_recorded"] = ["/rounds/2/critique"]
    page = open_viewer().show(run)
    assert "tokens unknown" in page.locator(".rl-banner").inner_text()
    assert "unknown" in page.locator(".rl-receipt tfoot").inner_text()
    page.locator("[role=tab]").nth(2).click()
    assert "The critique was not recorded." in page.locator(".rl-issues").inner_text()


def test_a_draft_that_a_check_did_not_look_at_does_not_look_clean(open_viewer: Any) -> None:
    run = stored("accepted")
    (python,) = (piece for piece in run["rounds"][1]["evidence"] if piece["source"] == "python:1")
    page = open_viewer().show(run)
    assert "0 blocking" in page.locator("[role=tab] .rl-good").inner_text()
    assert "raised nothing" in page.locator(".rl-issues").inner_text()
    python.update(status="not_run", findings=[], text="nobody said that it may run", executions=0)
    page = open_viewer().show(run)
    assert "0 blocking, 1 not checked" in page.locator("[role=tab]").nth(1).inner_text()
    assert page.locator("[role=tab] .rl-good").count() == 0
    issues = page.locator(".rl-issues").inner_text()
    assert "not everything was checked: python:1" in issues and "raised nothing" not in issues


def test_rounds_are_chosen_with_the_keyboard_alone(open_viewer: Any) -> None:
    page = open_viewer().show(stored("stalled"))
    selected = page.locator("[role=tab][aria-selected=true]")
    selected.focus()
    assert page.locator("[role=tab][tabindex='0']").count() == 1
    for key, name in (("ArrowRight", "Round 2"), ("ArrowRight", "Round 2"), ("Home", "Round 0"), ("End", "Round 2")):
        page.keyboard.press(key)
        assert selected.inner_text().startswith(name)
        assert page.evaluate("document.activeElement.getAttribute('aria-selected')") == "true"
    outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert outline == "solid"
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.getAttribute('role')") == "tabpanel"


def test_a_folded_run_of_lines_unfolds(open_viewer: Any) -> None:
    page = open_viewer().show(stored("accepted"))
    before = page.locator(".rl-row").count()
    page.get_by_role("button", name=re.compile(r"Show \d+ unchanged lines")).first.click()
    assert page.locator(".rl-row").count() > before


def test_astral_characters_are_marked_where_python_counted_them(open_viewer: Any) -> None:
    page = open_viewer().show(stored("hostile"))
    assert "before" in page.locator(".rl-row.rl-removed").first.inner_text()
    marked = page.locator(".rl-row.rl-removed").first.locator("mark").all_inner_texts()
    assert marked == ["before"]


def test_text_streams_while_it_runs_and_stop_reaches_the_kernel(open_viewer: Any) -> None:
    page = open_viewer().show(stored("accepted"), LIVE)
    for seq, delta in enumerate(("(xs)", ":\n", "    return"), start=1):
        page.evaluate("([delta, seq]) => emit('msg:custom', {type: 'text', delta, seq})", [delta, seq])
    page.wait_for_function("document.querySelector('.rl-stream').innerText.includes('def mean(xs):\\n    return')")
    assert "The generator writes draft 2" in page.locator("[role=status]").inner_text()
    page.get_by_role("button", name="Stop").click()
    assert page.evaluate("sent") == [{"type": "stop"}]
    assert page.get_by_role("button", name="Stopping").is_disabled()
    page.evaluate("set('live', null)")
    page.wait_for_selector("text=Accepted on the evidence shown")
    assert page.locator(".rl-stream").count() == 0


def test_a_question_takes_no_click_at_first_one_answer_then_and_escape_is_a_no(open_viewer: Any) -> None:
    """A click that was meant for what stood there before, the question before it included, must not let code run."""
    viewer = open_viewer()
    viewer.page.clock.install()
    viewer.page.clock.pause_at("2030-01-01")
    page = viewer.show(None, {**LIVE, "question": "May it run?", "asked": 1})
    run = page.get_by_role("button", name="Run this code once")
    page.clock.run_for(200)
    assert run.is_disabled()
    page.clock.run_for(500)
    run.click()
    assert page.evaluate("sent") == [{"type": "answer", "may_run": True, "asked": 1}]
    page.clock.run_for(50)
    assert run.is_disabled()
    # Two changes within one frame, as of a check that is refused and the next one that asks.
    page.evaluate(
        "both => both.forEach(each => set('live', each))", [LIVE, {**LIVE, "question": "And it?", "asked": 2}]
    )
    page.clock.run_for(200)
    assert "And it?" in page.locator(".rl-question").inner_text() and run.is_disabled()
    page.clock.run_for(500)
    run.focus()
    page.keyboard.press("Escape")
    assert page.evaluate("sent[1]") == {"type": "answer", "may_run": False, "asked": 2}


def test_a_view_without_buttons_says_why(open_viewer: Any) -> None:
    reason = "The cell runs under %%time."
    page = open_viewer().show(None, {**LIVE, "can_stop": False, "buttons_off_reason": reason})
    assert reason in page.locator(".rl-banner").inner_text()
    assert page.get_by_role("button", name="Stop").count() == 0


def test_a_live_view_follows_the_newest_round_until_another_is_chosen(open_viewer: Any) -> None:
    run = stored("stalled")
    page = open_viewer().show({**run, "rounds": run["rounds"][:1], "outcome": None}, LIVE)
    selected = page.locator("[role=tab][aria-selected=true]")
    page.evaluate("run => set('run', run)", {**run, "rounds": run["rounds"][:2], "outcome": None})
    page.wait_for_selector("[role=tab] >> nth=1")
    assert selected.inner_text().startswith("Round 1")
    page.locator("[role=tab]").first.click()
    page.evaluate("run => set('run', run)", {**run, "outcome": None})
    page.wait_for_selector("[role=tab] >> nth=2")
    assert selected.inner_text().startswith("Round 0")


def test_candidates_that_were_not_chosen_can_be_opened_with_how_their_checks_went(open_viewer: Any) -> None:
    turn = Turn(
        "first try", (report("c1"),), others=(Turn("second try", (report(),)), Turn("third try", (report("c2"),)))
    )
    run, _ = play([turn], CHECKED_TASK, policy(width=3, select="rank", critic="never", revisions=0))
    page = open_viewer().show(dump_run(run))
    assert "chosen from 3 candidates (select: rank)" in page.locator(".rl-draft").inner_text()
    assert "second try" in page.locator(".rl-draft").inner_text()
    shown = page.locator("details", has_text="not chosen")
    assert [one.locator("summary").inner_text() for one in shown.all()] == [
        "Candidate 0, not chosen: tests failed",
        "Candidate 2, not chosen: tests failed",
    ]
    shown.first.locator("summary").click()
    assert "first try" in shown.first.inner_text()


def test_a_critic_that_was_interrupted_is_not_one_that_was_not_asked(open_viewer: Any) -> None:
    run, events = play([Turn("a", (), (reply(score=0.9),))])
    *_, before, _, _ = prefixes(run, events)
    viewer = open_viewer()
    page = viewer.show(dump_run(after(before, Cancelled(ledger=(row(before, "critic", 0),)))))
    assert "The critic was asked and gave no answer." in page.locator(".rl-issues").inner_text()
    page = viewer.show(dump_run(after(before, Cancelled())))
    assert "The critic was not asked." in page.locator(".rl-issues").inner_text()
