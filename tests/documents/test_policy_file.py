"""Policy files: what is accepted, what is refused, and in which words."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reflect_lab.core.errors import WrongUse
from reflect_lab.core.policy import Limits, Policy, Rules, Views
from reflect_lab.documents.policy_file import apply_overrides, load_policy, named_policy, policy_names, read_policy

FULL = """\
reflection_policy:
  profile: careful
  limits: {revisions: 0, model_calls: 3, critic_calls: null, total_tokens: 0, elapsed_s: 2.5, tool_calls: 9,
           currency: USD, rates: {EUR: 2}, strict: true}
  rules: {min_gain: 0, patience: 2, repeat_limit: 3, pass_score: 1, max_issues: 1, revision: rewrite, critic: always,
          coverage: required, draft_quotes: allow, signal: optional, width: 3, select: vote, critique: text}
  views: {generator: [task, feedback, draft], critic: [draft, task], draft_role: assistant}
  on_exhaustion: stop
  on_denied: stop
"""


def problem(text: str) -> str:
    with pytest.raises(WrongUse) as caught:
        load_policy(text, "p.yaml")
    message = str(caught.value)
    assert "\n" not in message
    return message


def test_every_key_of_the_documentation_is_read() -> None:
    assert load_policy(FULL) == Policy(
        profile="careful",
        limits=Limits(
            revisions=0, model_calls=3, total_tokens=0, elapsed_s=2.5, tool_calls=9, currency="USD", rates={"EUR": 2.0},
            strict=True,
        ),
        rules=Rules(
            min_gain=0.0, patience=2, repeat_limit=3, pass_score=1.0, max_issues=1, revision="rewrite", critic="always",
            coverage="required", draft_quotes="allow", signal="optional", width=3, select="vote", critique="text",
        ),
        views=Views(generator=("task", "feedback", "draft"), critic=("draft", "task"), draft_role="assistant"),
        on_exhaustion="stop",
    )  # fmt: skip


def test_what_a_file_leaves_out_keeps_its_default_and_its_hash() -> None:
    assert load_policy("limits: {}\nrules:\n") == Policy()
    assert load_policy("limits:\n  revisions: 2\n").sha256 == Policy().sha256


def test_a_whole_number_where_a_share_is_meant_gives_the_same_hash() -> None:
    assert load_policy("rules: {min_gain: 1}").sha256 == load_policy("rules: {min_gain: 1.0}").sha256


def test_the_shipped_standard_policy_says_the_defaults() -> None:
    assert "standard" in policy_names()
    assert named_policy("standard") == Policy()


def test_an_unknown_policy_name_gets_the_nearest_one() -> None:
    with pytest.raises(WrongUse, match="there is no policy 'standrd'; did you mean 'standard'"):
        named_policy("standrd")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("rules: {max_isues: 1}", "p.yaml: unknown key 'max_isues' in rules; did you mean 'max_issues'?"),
        ("limits: {revision: 1}", "p.yaml: unknown key 'revision' in limits; did you mean 'revisions'?"),
        ("limit: {}", "p.yaml: unknown key 'limit'; did you mean 'limits'?"),
        ("rules: {revisions: 1}", "p.yaml: unknown key 'revisions' in rules; did you mean 'revision'?"),
        ("limits: {patience: 1}", "p.yaml: unknown key 'patience' in limits; it stands under rules"),
        ("limits: {on_exhaustion: stop}", "p.yaml: unknown key 'on_exhaustion' in limits; it stands at the top level"),
        ("actor_attempts: 2", "p.yaml: unknown key 'actor_attempts'; it stands under limits"),
        ("limits: {actor_atempts: 3}", "p.yaml: unknown key 'actor_atempts' in limits; did you mean 'actor_attempts'?"),
        ("on_authorisation_failure: stop", "p.yaml: unknown key 'on_authorisation_failure'; did you mean 'on_auth"),
        ("view: {}", "p.yaml: unknown key 'view'; did you mean 'views'?"),
        ("views: {critics: [task]}", "p.yaml: unknown key 'critics' in views; did you mean 'critic'?"),
        ("views: {critic: task}", "p.yaml: views.critic must be a list of sections, not 'task'; known are task, req"),
        ("views: {critic: []}", "p.yaml: views.critic is empty: this role would see nothing"),
        ("views: {critic: [task, drafts]}", "p.yaml: views.critic: there is no section 'drafts'; did you mean 'draft"),
        ("views: {critic: [1]}", "p.yaml: views.critic: there is no section 1; known are task, requirements"),
        ("views: {generator: [task, draft, task]}", "p.yaml: views.generator: 'task' stands there twice"),
        ("views: {draft_role: system}", "p.yaml: views.draft_role is 'system'; known are user, assistant"),
        ("limits: {strict: 1}", "p.yaml: limits.strict must be true or false, not 1"),
        ("rules: {width: 0}", "p.yaml: rules.width must be at least 1, not 0"),
        ("rules: {select: bets}", "p.yaml: rules.select is 'bets'; did you mean 'best'?"),
        ("rules: {critique: texts}", "p.yaml: rules.critique is 'texts'; did you mean 'text'?"),
        ("limits: {revisions: true}", "p.yaml: limits.revisions must be a whole number, not True"),
        ("limits: {revisions: 1.0}", "p.yaml: limits.revisions must be a whole number, not 1.0"),
        ("limits: {revisions: '2'}", "p.yaml: limits.revisions must be a whole number, not '2'"),
        ("limits: {revisions: null}", "p.yaml: limits.revisions must be a whole number, not None"),
        ("limits: {revisions: -1}", "p.yaml: limits.revisions must be at least 0, not -1"),
        ("limits: {[a]: 1}", "p.yaml, line 1: a key must be a word, not a list or a mapping"),
        (f"limits: {{revisions: 0x{'f' * 6000}}}", "p.yaml, line 1: a whole number is too large; at most 9,223,"),
        ("limits: {total_tokens: -1}", "p.yaml: limits.total_tokens must be at least 0, not -1"),
        ("limits: {elapsed_s: -0.5}", "p.yaml: limits.elapsed_s must be at least 0 seconds, not -0.5"),
        ("limits: {elapsed_s: .inf}", "p.yaml, line 1: inf is no number that can be used here"),
        ("limits: {cost: -1}", "p.yaml: limits.cost must be at least 0, not -1"),
        ("limits: {currency: dollars}", "p.yaml: limits.currency must be a currency code such as USD"),
        ("limits: {rates: {EUR: 0}}", "p.yaml: limits.rates.EUR must be above 0, not 0"),
        ("rules: {patience: 0}", "p.yaml: rules.patience must be at least 1, not 0"),
        ("rules: {repeat_limit: 0}", "p.yaml: rules.repeat_limit must be at least 1, not 0"),
        ("rules: {max_issues: 0}", "p.yaml: rules.max_issues must be at least 1, not 0"),
        ("rules: {pass_score: 1.5}", "p.yaml: rules.pass_score must be in 0..1, not 1.5"),
        ("rules: {min_gain: -0.05}", "p.yaml: rules.min_gain must be in 0..1, not -0.05"),
        ("rules: {min_gain: .nan}", "p.yaml, line 1: nan is no number that can be used here"),
        ("rules: {critic: sometimes}", "p.yaml: rules.critic is 'sometimes'; known are always"),
        ("rules: {critic: allways}", "p.yaml: rules.critic is 'allways'; did you mean 'always'?"),
        ("rules: {critic: off}", "p.yaml: rules.critic is False; known are always"),
        ("on_exhaustion: reviews", "p.yaml: on_exhaustion is 'reviews'; did you mean 'review'?"),
        ("on_exhaustion: 'model: '", "p.yaml: on_exhaustion: name the model that takes over: model:NAME"),
        ("rules: [1]", "p.yaml: rules must hold `key: value` lines, not [1]"),
        ("profile: ''", "p.yaml: profile must be text, not ''"),
        ("- a", "p.yaml, line 1: expected `key: value` lines"),
        ("# nothing", "p.yaml: this policy is empty"),
        ("rules:\n  a: [", "p.yaml, line 2: not valid YAML:"),
        ("rules:\n\ta: 1", "p.yaml, line 2: not valid YAML:"),
        ("rules: {}\nrules: {}", "p.yaml, line 2: 'rules' stands there twice"),
        ("rules: {patience: 1, patience: 2}", "p.yaml, line 1: 'patience' stands there twice"),
        ("1: a", "p.yaml, line 1: a key must be a word, not '1'"),
        ("<<: {limits: {}}", "p.yaml, line 1: a key must be a word, not '<<'"),
        ("profile: !!binary aGk=", "p.yaml, line 1: YAML tags ("),
        ("a: &a [x]\nb: [*a, *a]", "p.yaml, line 2: YAML aliases (*name) are not allowed"),
        ("limits: {total_tokens: " + "9" * 5000 + "}", "p.yaml: this YAML can't be read:"),
        ("[" * 5000, "p.yaml, line 1: this YAML is nested too deeply"),
    ],
)  # fmt: skip
def test_a_wrong_policy_is_one_line_that_says_what_and_where(text: str, message: str) -> None:
    assert problem(text).startswith(message)


def test_overrides_replace_single_values_and_are_checked_alike() -> None:
    policy = apply_overrides(load_policy(FULL), limits={"revisions": 4, "total_tokens": None}, rules={"max_issues": 2})
    assert (policy.limits.revisions, policy.limits.total_tokens, policy.rules.max_issues) == (4, 0, 2)
    assert policy.rules.patience == 2
    with pytest.raises(WrongUse, match=r"^--max-revisions: limits.revisions must be at least 0, not -2"):
        apply_overrides(policy, where="--max-revisions", limits={"revisions": -2})


def test_reflection_off_writes_one_draft_and_asks_no_critic() -> None:
    policy = apply_overrides(Policy(), reflection="off")
    assert policy.is_off
    assert apply_overrides(policy, reflection="on") == policy
    wide = apply_overrides(Policy(rules=Rules(width=3)), reflection="off")
    assert wide.rules.width == 1, "one draft, not one round of three"


def test_a_policy_is_read_by_name_or_from_a_file_with_its_name_in_errors(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text("limits: {revisions: 1}", "utf-8")
    (tmp_path / "bad.yaml").write_text("rules: {patience: 0}", "utf-8")
    (tmp_path / "bytes.yaml").write_bytes(b"\xff\xfe\x00")
    assert read_policy("standard", tmp_path) == Policy()
    assert read_policy("mine.yaml", tmp_path).limits.revisions == 1
    for name, message in [
        ("bad.yaml", r"^bad\.yaml: rules\.patience"),
        ("none.yaml", r"^the policy file none\.yaml can't be read: No such file"),
        ("bytes.yaml", r"^the policy file bytes\.yaml is not UTF-8 text"),
        ("stadard", r"^there is no policy 'stadard'; did you mean 'standard'"),
    ]:
        with pytest.raises(WrongUse, match=message):
            read_policy(name, tmp_path)


@settings(max_examples=500, deadline=None)
@given(st.text(alphabet="limtsrue:{}[]-?!&*<>|'\"\n \t0123.~%@`é\0\ud800", max_size=60))
def test_any_text_is_a_policy_or_one_clear_line(text: str) -> None:
    try:
        load_policy(text)
    except WrongUse as error:
        assert "\n" not in str(error)
