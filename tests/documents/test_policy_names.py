"""Aliases of policy keys, and what a policy's sha256 and its written form stand for."""

from __future__ import annotations

from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reflect_lab.core.policy import Limits, Policy, Rules, Section, Views
from reflect_lab.documents.policy_file import dump_policy, load_policy, policy_mapping
from tests.documents.test_policy_file import problem

SOURCE = """\
reflection_policy:
  profile: code-review-standard
  limits:
    actor_attempts: 3
    evaluator_calls: 3
    total_tokens: 8000
    elapsed_ms: 12000
    estimated_cost_usd: 0.25
    repeated_failure_signature: 2
  on_exhaustion: human_review
  on_policy_denial: stop
  on_authorization_failure: stop
"""


def test_the_published_policy_loads_by_its_own_key_names() -> None:
    assert load_policy(SOURCE) == Policy(
        profile="code-review-standard",
        limits=Limits(revisions=2, critic_calls=3, total_tokens=8000, elapsed_s=12.0, cost=0.25, currency="USD"),
        rules=Rules(repeat_limit=2),
        on_exhaustion="review",
        on_denied="stop",
    )


@pytest.mark.parametrize(
    ("alias", "own"),
    [
        ("profile_name: mine", "profile: mine"),
        ("limits: {actor_attempts: 1}", "limits: {revisions: 0}"),
        ("limits: {evaluator_calls: 0}", "limits: {critic_calls: 0}"),
        ("limits: {evaluator_calls: null}", "limits: {critic_calls: null}"),
        ("limits: {elapsed_ms: 1500}", "limits: {elapsed_s: 1.5}"),
        ("limits: {elapsed_ms: 300}", "limits: {elapsed_s: 0.3}"),
        ("limits: {elapsed_ms: null}", "limits: {elapsed_s: null}"),
        ("limits: {estimated_cost_usd: null}", "limits: {cost: null}"),
        ("limits: {estimated_cost_usd: 0.25}", "limits: {cost: 0.25, currency: USD}"),
        ("limits: {estimated_cost_usd: 1, currency: USD}", "limits: {cost: 1, currency: USD}"),
        ("limits: {repeated_failure_signature: 5}", "rules: {repeat_limit: 5}"),
        ("rules: {repeated_failure_signature: 5, patience: 3}", "rules: {patience: 3, repeat_limit: 5}"),
        ("on_exhaustion: human_review", "on_exhaustion: review"),
        ("on_policy_denial: stop", "on_denied: stop"),
        ("on_authorization_failure: stop", "on_denied: stop"),
    ],
)
def test_an_alias_means_its_own_name_in_its_own_unit(alias: str, own: str) -> None:
    assert load_policy(alias) == load_policy(own)
    assert load_policy(alias).sha256 == load_policy(own).sha256


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("limits: {actor_attempts: 0}", "p.yaml: limits.actor_attempts must be at least 1, not 0"),
        ("limits: {actor_attempts: null}", "p.yaml: limits.actor_attempts must be a whole number, not None"),
        ("limits: {evaluator_calls: 1.5}", "p.yaml: limits.evaluator_calls must be a whole number, not 1.5"),
        ("limits: {elapsed_ms: -1}", "p.yaml: limits.elapsed_ms must be at least 0 milliseconds, not -1"),
        ("limits: {elapsed_ms: soon}", "p.yaml: limits.elapsed_ms must be a number, not 'soon'"),
        ("limits: {estimated_cost_usd: cheap}", "p.yaml: limits.estimated_cost_usd must be a number, not 'cheap'"),
        ("limits: {estimated_cost_usd: -1}", "p.yaml: limits.estimated_cost_usd must be at least 0, not -1"),
        (
            "limits: {repeated_failure_signature: 0}",
            "p.yaml: limits.repeated_failure_signature must be at least 1, not 0",
        ),
        ("on_exhaustion: humanreview", "p.yaml: on_exhaustion is 'humanreview'; did you mean 'human_review'?"),
        ("on_policy_denial: review", "p.yaml: on_policy_denial is 'review'; known are stop"),
        ("profile_name: 3", "p.yaml: profile_name must be text, not 3"),
    ],
)
def test_an_error_about_an_alias_names_the_key_that_was_written(text: str, message: str) -> None:
    assert problem(text).startswith(message)


@pytest.mark.parametrize(
    ("text", "first", "second"),
    [
        ("limits: {actor_attempts: 3, revisions: 2}", "limits.actor_attempts", "limits.revisions"),
        ("limits: {revisions: 2, actor_attempts: 3}", "limits.revisions", "limits.actor_attempts"),
        ("limits: {elapsed_ms: 1, elapsed_s: 1}", "limits.elapsed_ms", "limits.elapsed_s"),
        (
            "limits: {repeated_failure_signature: 2}\nrules: {repeat_limit: 2}",
            "limits.repeated_failure_signature",
            "rules.repeat_limit",
        ),
        (
            "limits: {repeated_failure_signature: 2}\nrules: {repeated_failure_signature: 2}",
            "limits.repeated_failure_signature",
            "rules.repeated_failure_signature",
        ),
        ("limits: {cost: 1, estimated_cost_usd: 1}", "limits.cost", "limits.estimated_cost_usd"),
        ("on_denied: stop\non_policy_denial: stop", "on_denied", "on_policy_denial"),
        ("on_authorization_failure: stop\non_denied: stop", "on_authorization_failure", "on_denied"),
        ("profile: a\nprofile_name: a", "profile", "profile_name"),
    ],
)
def test_a_key_that_is_said_under_two_names_is_wrong_use_that_names_both(text: str, first: str, second: str) -> None:
    assert problem(text) == f"p.yaml: {first} and {second} are names of the same key; keep one of them"


@pytest.mark.parametrize("text", ["currency: EUR, estimated_cost_usd: 1", "estimated_cost_usd: 1, currency: EUR"])
def test_a_cost_in_dollars_contradicts_another_currency(text: str) -> None:
    assert problem(f"limits: {{{text}}}") == (
        "p.yaml: limits.estimated_cost_usd means limits.currency: USD, but limits.currency is EUR; keep one of them"
    )


def test_an_alias_leaves_what_it_does_not_name_as_the_base_has_it() -> None:
    base = load_policy("limits: {total_tokens: 7}\nrules: {patience: 4}")
    policy = load_policy("limits: {actor_attempts: 2, repeated_failure_signature: 3}", base=base)
    assert (policy.limits.total_tokens, policy.rules.patience) == (7, 4)
    assert (policy.limits.revisions, policy.rules.repeat_limit) == (1, 3)


def test_the_hash_is_that_of_the_content_not_of_its_writing() -> None:
    written = load_policy("# ours\nprofile: a\nlimits: {revisions: 1, elapsed_s: 2}\nrules: {repeat_limit: 3}\n")
    other = load_policy(
        "rules:\n  # a rule\n  repeat_limit: 3\nlimits:\n  elapsed_ms: 2000\n  actor_attempts: 2\nprofile_name: a\n"
    )
    assert written.sha256 == other.sha256
    assert written.sha256 != load_policy("profile: a\nlimits: {revisions: 1, elapsed_s: 2}").sha256


def _count(least: int) -> st.SearchStrategy[int]:
    return st.integers(least, 10**12)


def _maybe(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.none() | values


SHARES = st.floats(0, 1)
AMOUNTS = st.floats(0, allow_infinity=False)
CODES = st.text("ABCDEFGHIJKLMNOPQRSTUVWXYZ", min_size=3, max_size=3) | st.sampled_from(["YES", "OFF"])
VIEW = st.lists(st.sampled_from(get_args(Section)), unique=True, min_size=1).map(tuple)

LIMITS = st.builds(
    Limits,
    revisions=_count(0), model_calls=_maybe(_count(0)), critic_calls=_maybe(_count(0)), total_tokens=_maybe(_count(0)),
    elapsed_s=_maybe(AMOUNTS), cost=_maybe(AMOUNTS), currency=_maybe(CODES), tool_calls=_maybe(_count(0)),
    rates=st.dictionaries(CODES, st.floats(0, exclude_min=True, allow_infinity=False), max_size=3),
    strict=st.booleans(),
)  # fmt: skip
RULES = st.builds(
    Rules,
    min_gain=SHARES, patience=_count(1), repeat_limit=_count(1), pass_score=SHARES, max_issues=_count(1),
    revision=st.sampled_from(["auto", "patch", "rewrite"]),
    critic=st.sampled_from(["always", "when_gates_pass", "never"]),
    coverage=st.sampled_from(["reported", "required"]), draft_quotes=st.sampled_from(["discard", "allow"]),
    signal=st.sampled_from(["required", "optional"]), width=_count(1),
    select=st.sampled_from(["pass", "best", "last", "vote", "rank"]), critique=st.sampled_from(["issues", "text"]),
)  # fmt: skip
POLICIES = st.builds(
    Policy,
    profile=st.text(min_size=1).map(str.strip).filter(bool),
    limits=LIMITS,
    rules=RULES,
    views=st.builds(Views, generator=VIEW, critic=VIEW, draft_role=st.sampled_from(["user", "assistant"])),
    on_exhaustion=st.sampled_from(["review", "stop", "model:big@work", "model:scripted:other.jsonl"]),
    on_denied=st.just("stop"),
)


@settings(max_examples=200, deadline=None)
@given(POLICIES)
def test_a_policy_that_is_written_as_a_file_is_the_same_policy_when_it_is_read(policy: Policy) -> None:
    for again in (load_policy(dump_policy(policy)), load_policy(policy_mapping(policy))):
        assert again == policy
        assert again.sha256 == policy.sha256
