"""The static renderings: they tell the whole story, and no text of a run is ever markup."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from reflect_lab.core.drafts import diff
from reflect_lab.core.events import Cancelled
from reflect_lab.core.evidence import Evidence, Finding, Location
from reflect_lab.core.reducer import after
from reflect_lab.core.run import Run
from reflect_lab.documents.render_diff import diff_rows
from reflect_lab.documents.render_html import run_html
from reflect_lab.documents.render_markdown import code, fence, run_markdown
from reflect_lab.documents.render_text import run_text
from reflect_lab.documents.run_document import load_run
from reflect_lab.documents.visible import visible
from tests.core.simulate import Turn, play, prefixes, reply, row
from tests.documents.run_strategies import HOSTILE, runs

RENDERERS = {"html": run_html, "markdown": run_markdown, "text": run_text}
TAGS = {"div", "span", "bdi", "pre", "details", "summary", "ul", "li", "strong", "b", "br", "code", "del"}
ATTRIBUTES = {"style", "class", "dir", "open"}
TOKENS = {
    "paragraph_open", "paragraph_close", "inline", "fence", "heading_open", "heading_close", "bullet_list_open",
    "bullet_list_close", "list_item_open", "list_item_close", "text", "code_inline", "strong_open", "strong_close",
    "softbreak",
}  # fmt: skip
OWN_WORDS = re.compile(r"[^`<>\[\]|$\\]*")


class Page(HTMLParser):
    """Collects the tags, the attributes and the text of a fragment."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.classes: set[str] = set()
        self.text = ""
        self.depth: list[str] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes.update(name for name, _ in attrs)
        self.classes.update(value or "" for name, value in attrs if name == "class")
        if tag != "br":
            self.depth.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.depth.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data

    def handle_comment(self, data: str) -> None:
        raise AssertionError(f"a comment: {data}")

    def handle_decl(self, decl: str) -> None:
        raise AssertionError(f"a declaration: {decl}")


def stored(name: str) -> Run:
    path = Path(__file__).parent.parent / "fixtures" / "runs" / f"{name}.json"
    return load_run(json.loads(path.read_text("utf-8")))


def assert_html_is_inert(html: str) -> None:
    page = Page(html)
    assert page.tags <= TAGS
    assert page.attributes <= ATTRIBUTES
    assert page.classes == {"tex2jax_ignore mathjax_ignore"}
    assert page.depth == []
    assert not re.search(r"<[^>]*x-hit", html)
    assert visible(html) == html


def assert_markdown_is_inert(markdown: str) -> None:
    for block in MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(markdown):
        assert block.type in TOKENS
        for token in block.children or ():
            assert token.type in TOKENS
            if token.type == "text":
                assert "x-hit" not in token.content
                assert OWN_WORDS.fullmatch(token.content)
    assert visible(markdown) == markdown


@pytest.mark.parametrize("form", RENDERERS)
def test_each_form_tells_the_whole_story(form: str) -> None:
    run = stored("accepted")
    text = RENDERERS[form](run, traces="data/traces")
    if form == "html":
        text = Page(text).text
    for part in (
        "Accepted on the evidence shown", "pass score", "0.95", "Round 0", "Round 1", "2 blocking", "case:3",
        "division by zero", "the empty list gives 0.0", "it quotes R2", "it quotes evidence:python:1", "line 9",
        "PEP 20 says that flat is better than nested", "its quote stands in no source", "Use sum() and len().",
        "sandbox level 1, process limits (no isolation)", "asserts ran beside the code under test", "2,154 tokens",
        "cost unknown", "return float(total / count)", "unchanged lines", run.run_id, "data/traces",
    ):  # fmt: skip
        assert part in text, part
    assert re.search(r"^ *- +return total / count$", text, re.MULTILINE)
    assert re.search(r"^ *\+ +return float\(total / count\)$", text, re.MULTILINE)


@pytest.mark.parametrize("form", RENDERERS)
def test_evidence_that_is_trusted_says_so(form: str) -> None:
    run = stored("accepted")
    assert "trusted, not confined" not in RENDERERS[form](run)
    last = run.rounds[-1]
    first, *others = last.evidence or ()
    mine = replace(first, provenance={"trust": "trusted: a function of this process, not confined"})
    run = replace(run, rounds=(*run.rounds[:-1], replace(last, evidence=(mine, *others))))
    assert "trusted, not confined" in RENDERERS[form](run)


@pytest.mark.parametrize("form", RENDERERS)
@pytest.mark.parametrize("name", ["accepted", "stalled", "cancelled", "error"])
def test_no_run_is_ever_called_correct(form: str, name: str) -> None:
    run = stored(name)
    text = RENDERERS[form](run)
    assert "correct" not in text.casefold()
    assert ("Accepted" in text) == (name == "accepted")


@pytest.mark.parametrize("form", RENDERERS)
def test_a_draft_at_which_nobody_looked_is_not_said_to_have_no_problems(form: str) -> None:
    run = stored("accepted")
    last = run.rounds[-1]
    assert last.critique is not None
    critique = replace(last.critique, validity="not_asked", issues=(), score=None, score_kind=None)
    unseen = replace(run, rounds=(replace(last, evidence=(), critique=critique),))
    invalid = replace(run, rounds=(replace(last, critique=replace(critique, validity="invalid")),))
    checked = replace(run, rounds=(replace(last, critique=critique),))
    for text in map(RENDERERS[form], (unseen, invalid)):
        assert "not judged" in text and "0 blocking" not in text
    assert "0 blocking" in RENDERERS[form](checked), "the checks looked"


@pytest.mark.parametrize("form", RENDERERS)
def test_unknown_numbers_are_called_unknown(form: str) -> None:
    text = RENDERERS[form](stored("stalled"))
    assert "tokens unknown (in unknown, out 630)" in text
    assert "it may have cut the prompt" in text


@pytest.mark.parametrize("form", RENDERERS)
def test_an_error_without_a_draft_and_a_failed_recording_are_said(form: str) -> None:
    text = RENDERERS[form](stored("error"))
    assert "Ended by an error" in text
    assert "the key was refused" in text
    assert "No draft was written." in text
    assert "a recording failed" in text


@pytest.mark.parametrize("form", RENDERERS)
def test_what_was_never_recorded_is_no_empty_result(form: str) -> None:
    run = stored("accepted")
    first = run.rounds[0]
    cases = {
        "not gathered": replace(run, rounds=(replace(first, evidence=None),)),
        "not recorded": replace(run, rounds=(replace(first, evidence=None),), not_recorded=("/rounds/0/evidence",)),
        "none": replace(run, rounds=(replace(first, evidence=()),)),
    }
    for said, case in cases.items():
        text = RENDERERS[form](case)
        text = Page(text).text if form == "html" else text
        assert re.search(rf"evidence: {said}", text, re.IGNORECASE), said


@pytest.mark.parametrize("form", RENDERERS)
def test_what_was_left_out_is_named_with_the_way_to_get_it(form: str) -> None:
    run = stored("accepted")
    text = RENDERERS[form](run, left_out=("raw replies",))
    assert "raw replies" in text
    assert f"%reflect show {run.run_id}" in text


@pytest.mark.parametrize(("form", "failure", "note"), [
    ("text", "FAILED  ruff", "note W9 at line 7: by the way"),
    ("text", "E5 at line 3: too long", "E5 at line 3"),
    ("text", "R9 at total: 12: no such value", "could not be checked (error) S1: it broke"),
    ("markdown", "`E5` failed at `line 3`: `too long`", "`W9` note at `line 7`: `by the way`"),
    ("html", "E5 failed at line 3: too long", "W9 note at line 7: by the way"),
])  # fmt: skip
def test_findings_say_where_they_are_and_notes_that_they_are_notes(form: str, failure: str, note: str) -> None:
    found = (
        Finding(id="E5", status="failed", message="too long", location=Location(kind="line", value="3")),
        Finding(id="R9", status="failed", message="no such value", location=Location(kind="quote", value="total: 12")),
        Finding(id="S1", status="error", message="it broke", location=Location(kind="whole")),
        Finding(id="W9", status="advisory", message="by the way", location=Location(kind="line", value="7")),
    )
    piece = Evidence(source="ruff", kind="ruff", rank="deterministic", status="failed", findings=found)
    run = stored("accepted")
    run = replace(run, rounds=(replace(run.rounds[0], evidence=(piece,)), *run.rounds[1:]))
    text = RENDERERS[form](run)
    text = Page(text).text if form == "html" else text
    assert failure in text and note in text, text


def test_the_hostile_run_is_inert_in_every_form() -> None:
    run = stored("hostile")
    assert_html_is_inert(run_html(run))
    assert_markdown_is_inert(run_markdown(run))
    text = run_text(run)
    assert visible(text) == text
    assert "[ESC]]8;;http://attacker.invalid[BEL]" in text
    assert "[RLO]" in text


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(runs(HOSTILE))
def test_no_text_of_any_run_is_markup_in_html(run: Run) -> None:
    assert_html_is_inert(run_html(run, traces=run.salt, left_out=run.not_recorded))


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(runs(HOSTILE))
def test_no_text_of_any_run_leaves_its_code_in_markdown(run: Run) -> None:
    assert_markdown_is_inert(run_markdown(run, traces=run.salt, left_out=run.not_recorded))


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(runs(HOSTILE))
def test_no_control_character_of_any_run_reaches_a_terminal(run: Run) -> None:
    text = run_text(run, traces=run.salt, left_out=run.not_recorded)
    assert visible(text) == text
    text.encode("utf-8")


@settings(deadline=None)
@given(HOSTILE)
def test_a_code_span_holds_its_text_and_nothing_else(text: str) -> None:
    (_, inline, _) = MarkdownIt("commonmark").parse(f"a {code(text, 500)} b")
    assert [t.type for t in inline.children or ()] in (["text", "code_inline", "text"], ["text"])


@settings(deadline=None)
@given(HOSTILE)
def test_a_fence_holds_its_text_and_nothing_else(text: str) -> None:
    tokens = MarkdownIt("commonmark").parse(fence(text, "text", 500) + "\n\nafter")
    assert [t.type for t in tokens] == ["fence", "paragraph_open", "inline", "paragraph_close"]
    assert tokens[0].content == visible(text).removesuffix("\n") + "\n"


LINES = st.lists(st.sampled_from(["a", "b", "c", "", "  a", "long line of words"]), max_size=30).map("\n".join)


@settings(deadline=None)
@given(LINES, LINES)
def test_the_rows_of_a_diff_rebuild_both_sides(old: str, new: str) -> None:
    assume(old != new)
    rows = list(diff_rows(old, new, diff(old, new), context=10_000))
    before = [row.text for row in rows if row.kind in ("same", "old")]
    after = [row.text for row in rows if row.kind in ("same", "new")]
    for side, text in ((before, old), (after, new)):
        lines = text.split("\n")
        assert side in (lines, lines[:-1])


@settings(deadline=None)
@given(LINES, LINES)
def test_folding_hides_only_unchanged_lines_and_counts_them(old: str, new: str) -> None:
    assume(old != new)
    whole = list(diff_rows(old, new, diff(old, new), context=10_000))
    folded = list(diff_rows(old, new, diff(old, new)))
    assert [r for r in folded if r.kind in ("old", "new")] == [r for r in whole if r.kind in ("old", "new")]
    hidden = sum(int(r.text.split()[0]) for r in folded if r.kind == "fold")
    assert hidden + sum(r.kind == "same" for r in folded) == sum(r.kind == "same" for r in whole)


def test_a_critic_that_was_interrupted_is_not_one_that_was_not_asked() -> None:
    run, events = play([Turn("a", (), (reply(score=0.9),))])
    *_, before, _, _ = prefixes(run, events)
    cut = after(before, Cancelled(ledger=(row(before, "critic", 0),)))
    stopped = after(before, Cancelled())
    for render in (run_text, run_markdown, run_html):
        assert "The critic was asked and gave no answer." in render(cut)
        assert "The critic was not asked." in render(stopped)
