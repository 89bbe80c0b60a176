"""The `rules` check: machine-readable policy rules on the values of a YAML or JSON draft."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from reflect_lab.core.evidence import Finding, Location, Rank
from reflect_lab.core.run import Draft
from reflect_lab.core.task import CheckSpec
from reflect_lab.documents.suggest import did_you_mean
from reflect_lab.documents.suggest import shown as shown_option
from reflect_lab.evidence.check import Options, Report, Surroundings, one_requirement
from reflect_lab.evidence.kinds import manifest_program
from reflect_lab.evidence.kinds.manifest import check_path, fault_of, judged, unique, unreadable
from reflect_lab.evidence.sandbox.caged import Caged
from reflect_lab.evidence.wording import counted, report, shown

OPERATORS = (*manifest_program.OPERATORS, "exists", "absent", "total_at_most")
_QUANTITIES = ("at_most", "at_least", "less_than", "more_than", "total_at_most")
_LISTS = ("in", "not_in")
_WORDS = {
    "equals": "must be", "not_equals": "must not be", "at_most": "at most", "at_least": "at least",
    "less_than": "must be less than", "more_than": "must be more than", "in": "must be one of",
    "not_in": "must be none of", "matches": "must match", "not_matches": "must not match", "exists": "must be there",
    "absent": "must not be there", "total_at_most": "in all at most",
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Rule:
    """One rule: what the values at a path must be. `kind` limits it to documents of that kind; `optional` lets the path
    be missing; `times` (for totals) is a path to a factor, such as `spec.replicas`."""

    id: str
    path: str
    operator: str
    value: object = None
    message: str = ""
    requirement: str | None = None
    kind: str | None = None
    optional: bool = False
    times: str | None = None
    on_violation: str = "failed"


class RulesCheck:
    """Policy rules on a YAML or JSON draft. Option: `rules`, a list of `{path, operator, value}` with, where wanted,
    `id`, `message`, `requirement`, `kind` (only documents of that kind), `optional` (the path may be missing), `times`
    (a path to a factor, for totals) and `on_violation: denied` for an authorization rule, whose violation ends the run.

    Operators: `equals`, `not_equals`, `at_most`, `at_least`, `less_than`, `more_than`, `in`, `not_in`, `matches`,
    `not_matches`, `exists`, `absent`, `total_at_most`. Quantities are compared by value, also `500m` and `2Gi`.

    >>> draft = "spec:\\n  replicas: 2\\n  containers:\\n  - name: web\\n    limits: {memory: 2Gi}\\n"
    >>> path = "spec.containers[*].limits.memory"
    >>> one = {"id": "limit", "path": path, "operator": "at_most", "value": "1Gi"}
    >>> print(look("rules", draft, {"rules": [one]}).summary)
    failed
    - failed limit:$.spec.containers[0].limits.memory: 2Gi, at most 1Gi (path $.spec.containers[0].limits.memory)
    >>> quota = {"id": "quota", "path": path, "times": "spec.replicas", "operator": "total_at_most", "value": "3Gi"}
    >>> print(look("rules", draft, {"rules": [quota]}).summary)
    failed
    - failed quota: 4Gi, in all at most 3Gi (path spec.containers[*].limits.memory)
    """

    rank: Rank = "deterministic"
    language = "yaml"

    def __init__(self, spec: CheckSpec, surroundings: Surroundings) -> None:
        options = Options(spec, ("rules",))
        given = options.plain("rules")
        if not isinstance(given, list | tuple) or not given:
            raise options.wrong("rules must be a list of rules: path, operator, value")
        known = [requirement.id for requirement in surroundings.task.requirements]
        self._rules = [_rule(one, number, options, known) for number, one in enumerate(given, 1)]
        names = [rule.id for rule in self._rules]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise options.wrong(f"two rules have the id {shown_option(twice)}")
        self._job = [
            {
                "path": rule.path, "operator": rule.operator, "value": rule.value, "kind": rule.kind,
                "optional": rule.optional, "times": rule.times,
            }
            for rule in self._rules
        ]  # fmt: skip
        self._requirement = one_requirement(spec)

    async def run(self, draft: Draft) -> Report:
        caged = await judged({"text": draft.text, "rules": self._job})
        return replace(self._told(caged), sandbox=caged.sandbox(None), provenance=caged.provenance(draft.text))

    def _told(self, caged: Caged) -> Report:
        fault = fault_of(caged)
        if fault is not None:
            return fault
        broken = [unreadable(answer, self._requirement) for answer in caged.answers if "problem" in answer]
        if broken:
            text = report("the rules can't be applied", broken)
            return Report(status="failed", text=text, findings=tuple(broken))
        return self._reported([answer for answer in caged.answers if "rule" in answer])

    def _reported(self, broken: Sequence[Mapping[str, Any]]) -> Report:
        findings = unique((self._finding(answer) for answer in broken), most=None)
        if not findings:
            return Report(status="passed", text=f"all of {counted(len(self._rules), 'rule')} are kept")
        numbers = sorted({int(answer["rule"]) for answer in broken})
        denied = [self._rules[number].id for number in numbers if self._rules[number].on_violation == "denied"]
        summary = f"{counted(len(numbers), 'rule')} of {len(self._rules)} broken"
        if denied:
            summary += f"; not permitted: {', '.join(denied)}"
        return Report(status="denied" if denied else "failed", text=report(summary, findings), findings=findings)

    def _finding(self, answer: Mapping[str, Any]) -> Finding:
        rule = self._rules[answer["rule"]]
        at = shown(str(answer["at"] or rule.path), 120)
        words = _WORDS[rule.operator]
        wanted = f"{words} {_value(rule.value)}" if rule.operator not in ("exists", "absent") else words
        said = shown(str(answer["value"]), 80) if answer["is_there"] else "nothing is there"
        if answer["is_there"] and rule.operator in _QUANTITIES and manifest_program.number(answer["value"]) is None:
            said = f"{said} is no quantity"
        return Finding(
            id=f"{rule.id}:{at}" if answer["at"] else rule.id,
            status="failed",
            message=f"{said}, {wanted}" + (f": {rule.message}" if rule.message else ""),
            requirement=rule.requirement or self._requirement,
            location=Location(kind="path", value=at),
        )


def _rule(given: object, number: int, options: Options, requirements: Sequence[str]) -> Rule:
    """One rule, read strictly. Raises WrongUse."""
    where = f"rule {number}"
    if not isinstance(given, Mapping):
        raise options.wrong(f"{where} must be path, operator and value, not {shown_option(given)}")
    known = Rule.__dataclass_fields__
    for key in given:
        if key not in known:
            raise options.wrong(f"{where}: unknown key {shown_option(key)}; {did_you_mean(str(key), known)}")
    texts = ("id", "path", "operator", "message", "requirement", "kind", "times", "on_violation")
    for key in texts:
        if given.get(key) is not None and (not isinstance(given[key], str) or not given[key].strip()):
            raise options.wrong(f"{where}: {key} must be text, not {shown_option(given[key])}")
    if not isinstance(given.get("optional", False), bool):
        raise options.wrong(f"{where}: optional is true or false, not {shown_option(given['optional'])}")
    for key in ("path", "operator"):
        if key not in given:
            raise options.wrong(f"{where}: {key} is missing")
    rule = Rule(**{"id": f"rule:{number}", **given})
    if rule.operator not in OPERATORS:
        raise options.wrong(
            f"{where}: operator {shown_option(rule.operator)}; {did_you_mean(rule.operator, OPERATORS)}"
        )
    if rule.on_violation not in ("failed", "denied"):
        raise options.wrong(f"{where}: on_violation is failed or denied, not {shown_option(rule.on_violation)}")
    if rule.requirement is not None and rule.requirement not in requirements:
        hint = did_you_mean(rule.requirement, requirements)
        raise options.wrong(f"{where}: there is no requirement {shown_option(rule.requirement)}; {hint}")
    for key, path in (("path", rule.path), ("times", rule.times)):
        if path is not None:
            check_path(path, f"{where}: {key}", options)
    if rule.times is not None and rule.operator != "total_at_most":
        raise options.wrong(f"{where}: times goes with the operator total_at_most")
    _check_value(rule, where, options)
    return rule


def _check_value(rule: Rule, where: str, options: Options) -> None:
    value = rule.value
    if rule.operator in ("exists", "absent"):
        if value is not None:
            raise options.wrong(f"{where}: {rule.operator} takes no value")
    elif rule.operator in _QUANTITIES and manifest_program.number(value) is None:
        raise options.wrong(f"{where}: value must be a number or a quantity such as 500m or 2Gi, not {_value(value)}")
    elif rule.operator in _LISTS and not isinstance(value, list | tuple):
        raise options.wrong(f"{where}: value must be a list, not {shown_option(value)}")
    elif rule.operator in ("matches", "not_matches"):
        try:
            re.compile(str(value) if isinstance(value, str) else "(")
        except (re.error, RecursionError, OverflowError):
            raise options.wrong(f"{where}: {shown_option(value)} is no regular expression") from None


def _value(value: object) -> str:
    if isinstance(value, list | tuple):
        return ", ".join(_value(one) for one in value)
    return shown(value if isinstance(value, str) else manifest_program.shown(value), 80)
