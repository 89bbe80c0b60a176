"""The options of a run: what can't be followed is refused before anything is spent, whichever way it was said."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from reflect_lab.core.errors import WrongUse
from reflect_lab.core.policy import Limits, Policy, Rules, Views
from reflect_lab.documents.front_matter import CellOptions
from reflect_lab.options import RunOptions, resolve_policy


@pytest.mark.parametrize(
    ("policy", "named"),
    [
        (Policy(limits=Limits(cost=-1.0)), "limits.cost"),
        (Policy(limits=Limits(revisions=-1)), "limits.revisions"),
        (Policy(rules=Rules(patience=0)), "rules.patience"),
        (Policy(on_exhaustion="model:"), "on_exhaustion"),
    ],
)
def test_a_policy_made_in_python_is_held_to_the_rules_of_a_policy_file(policy: Policy, named: str) -> None:
    with pytest.raises(WrongUse, match=named):
        resolve_policy(RunOptions(policy=policy), Path())


def test_a_policy_made_in_python_is_taken_as_it_is() -> None:
    policy = Policy(
        profile="mine",
        limits=Limits(revisions=4, total_tokens=None, rates={"EUR": 1.08}),
        views=Views(critic=("task", "draft")),
        on_exhaustion="stop",
    )
    assert resolve_policy(RunOptions(policy=policy), Path()) == policy


@pytest.mark.parametrize(
    "options",
    [
        {"sandbox": "none"},
        {"reflection": "of"},
        {"signal": "maybe"},
        {"temperature": float("nan")},
        {"temperature": -1},
        {"temperature": "hot"},
        {"seed": 1.5},
        {"tags": {"lesson": 3}},
    ],
)
def test_an_option_that_no_run_can_follow_is_wrong_use(options: dict[str, Any]) -> None:
    with pytest.raises(WrongUse, match=next(iter(options))):
        RunOptions(**options)


def test_a_preset_is_refused_rather_than_ignored() -> None:
    with pytest.raises(WrongUse, match="presets are not built yet"):
        RunOptions().over(CellOptions(preset="critic"))
