"""What the generator is sent, and whether a patch or a rewrite is asked for."""

from __future__ import annotations

from typing import Literal

import pytest

from reflect_lab.core.critique import Critique, Issue, Severity
from reflect_lab.core.evidence import Location
from reflect_lab.core.feedback import feedback, revision_mode
from reflect_lab.core.policy import Rules

LINE = Location(kind="line", value="2")
WORDS = Location(kind=None, value="line 2")
WHOLE = Location(kind="whole")


def issue(location: Location | None, severity: Severity = "blocking", source: str = "critic", name: str = "a") -> Issue:
    return Issue(key=name, id=name, severity=severity, source=source, location=location)


def critique(*issues: Issue) -> Critique:
    return Critique(validity="ok", score=0.4, score_kind="critic", issues=issues)


@pytest.mark.parametrize(
    ("issues", "mode"),
    [
        ((issue(LINE),), "patch"),
        ((issue(WORDS),), "patch"),
        ((issue(LINE), issue(Location(kind="quote", value="the menu"))), "patch"),
        ((issue(LINE), issue(None, "minor")), "patch"),
        ((issue(None),), "rewrite"),
        ((issue(Location(kind="line")),), "rewrite"),
        ((issue(WHOLE),), "rewrite"),
        ((issue(Location(kind="whole", value="all of it")),), "rewrite"),
        ((issue(LINE), issue(None)), "rewrite"),
        ((issue(LINE, "major"),), "rewrite"),
        ((), "rewrite"),
    ],
)
def test_a_patch_is_asked_for_where_every_blocking_issue_has_a_place(
    issues: tuple[Issue, ...], mode: Literal["patch", "rewrite"]
) -> None:
    assert revision_mode(critique(*issues), Rules()) == mode


@pytest.mark.parametrize("chosen", ["patch", "rewrite"])
@pytest.mark.parametrize("place", [LINE, None])
def test_the_policy_may_settle_it(chosen: Literal["patch", "rewrite"], place: Location | None) -> None:
    assert revision_mode(critique(issue(place)), Rules(revision=chosen)) == chosen


@pytest.mark.parametrize("gate", ["whole", "format"])
def test_a_draft_that_is_not_whole_is_never_patched(gate: str) -> None:
    found = critique(issue(LINE, source=gate, name=gate))
    assert revision_mode(found, Rules(revision="patch")) == "rewrite"
    assert revision_mode(found, Rules()) == "rewrite"


@pytest.mark.parametrize("issues", [(), (issue(LINE, "major"),)])
def test_where_nothing_blocks_the_policy_gets_a_rewrite_too(issues: tuple[Issue, ...]) -> None:
    assert revision_mode(critique(*issues), Rules(revision="patch")) == "rewrite"


def test_a_withheld_issue_without_a_place_asks_for_a_rewrite_too() -> None:
    sent = feedback(critique(issue(LINE), issue(None, name="b")), Rules(max_issues=1))
    assert sent is not None
    assert (sent.mode, sent.sent, sent.withheld) == ("rewrite", ("a",), ("b",))
