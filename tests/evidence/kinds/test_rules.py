"""The `rules` check: operators, paths, totals, quantities, denied rules, wrong use."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reflect_lab.core.errors import WrongUse
from reflect_lab.core.evidence import Evidence
from reflect_lab.evidence.kinds.manifest_program import matches, missing, number, quantity, same, steps
from tests.evidence.evidence_support import evidence_of

POD = """kind: Deployment
metadata: {name: web, labels: {app.kubernetes.io/name: web}}
spec:
  replicas: 3
  containers:
  - name: app
    image: registry.example/app:1.2
    resources: {limits: {memory: 2Gi, cpu: 500m}}
  - name: side
    image: registry.example/side:latest
    resources: {limits: {memory: 256Mi}}
"""
CPU = "spec.containers[*].resources.limits.cpu"
MEMORY = "spec.containers[*].resources.limits.memory"


async def judged(rule: dict[str, Any], draft: str = POD, **more: Any) -> Evidence:
    return await evidence_of("rules", {"rules": [rule]}, draft, **more)


async def test_a_limit_over_the_namespace_quota_is_a_violation_with_its_path() -> None:
    """Two GiB where a namespace allows one: failed, so that it may be repaired, never denied."""
    rule = {"id": "quota", "path": MEMORY, "operator": "at_most", "value": "1Gi", "message": "the namespace's quota"}
    found = await judged(rule, covers=["R1"])
    (finding,) = found.findings
    assert (found.status, found.rank, found.is_authoritative) == ("failed", "deterministic", True)
    assert finding.id == "quota:$.spec.containers[0].resources.limits.memory"
    assert finding.location and finding.location.kind == "path"
    assert finding.location.value == "$.spec.containers[0].resources.limits.memory"
    assert finding.message == "2Gi, at most 1Gi: the namespace's quota" and finding.requirement == "R1"
    assert (await judged(rule, POD.replace("2Gi", "1Gi"))).status == "passed"


async def test_a_broken_authorization_rule_is_denied() -> None:
    rule = {"id": "no-admin", "path": "spec.role", "operator": "not_equals", "value": "admin", "on_violation": "denied"}
    found = await judged(rule, "spec: {role: admin}")
    assert found.status == "denied" and "not permitted: no-admin" in found.text
    assert (await judged(rule, "spec: {role: reader}")).status == "passed"


@pytest.mark.parametrize(("rule", "status"), [
    ({"path": "kind", "operator": "equals", "value": "Deployment"}, "passed"),
    ({"path": "kind", "operator": "equals", "value": "Pod"}, "failed"),
    ({"path": "kind", "operator": "in", "value": ["Pod", "Deployment"]}, "passed"),
    ({"path": "kind", "operator": "not_in", "value": ["Pod", "Deployment"]}, "failed"),
    ({"path": "spec.replicas", "operator": "at_least", "value": 3}, "passed"),
    ({"path": "spec.replicas", "operator": "more_than", "value": 3}, "failed"),
    ({"path": "spec.replicas", "operator": "less_than", "value": 3.5}, "passed"),
    ({"path": "spec.containers[*].image", "operator": "matches", "value": r"^registry\.example/"}, "passed"),
    ({"path": "spec.containers[*].image", "operator": "not_matches", "value": ":latest$"}, "failed"),
    ({"path": 'metadata.labels["app.kubernetes.io/name"]', "operator": "exists"}, "passed"),
    ({"path": "$.spec.hostNetwork", "operator": "absent"}, "passed"),
    ({"path": "spec.replicas", "operator": "absent"}, "failed"),
    ({"path": "spec.containers[-1].name", "operator": "equals", "value": "side"}, "passed"),
    ({"path": "spec.containers[0].resources.limits.cpu", "operator": "at_most", "value": 0.5}, "passed"),
    ({"path": CPU, "operator": "at_most", "value": 1}, "failed"),
    ({"path": CPU, "operator": "at_most", "value": 1, "optional": True}, "passed"),
    ({"path": "kind", "operator": "at_most", "value": 1}, "failed"),
    ({"path": "spec.x", "operator": "equals", "value": 1, "kind": "Service"}, "passed"),
    ({"path": MEMORY, "operator": "total_at_most", "value": "2304Mi"}, "passed"),
    ({"path": MEMORY, "operator": "total_at_most", "value": "2303Mi"}, "failed"),
    ({"path": MEMORY, "operator": "total_at_most", "value": "6Gi", "times": "spec.replicas"}, "failed"),
    ({"path": MEMORY, "operator": "total_at_most", "value": "6912Mi", "times": "spec.replicas"}, "passed"),
])  # fmt: skip
async def test_each_operator(rule: dict[str, Any], status: str) -> None:
    assert (await judged(rule)).status == status


async def test_what_is_missing_is_a_violation_at_its_place() -> None:
    found = await judged({"id": "cpu", "path": "spec.containers[*].resources.limits.cpu", "operator": "exists"})
    assert [f.id for f in found.findings] == ["cpu:$.spec.containers[1].resources.limits.cpu"]
    assert found.findings[0].message == "nothing is there, must be there"
    found = await judged({"id": "any", "path": "spec.pods[*].x", "operator": "equals", "value": 1})
    assert [f.id for f in found.findings] == ["any:$.spec.pods"]


async def test_a_total_counts_all_documents_and_names_what_is_no_quantity() -> None:
    rule = {"id": "sum", "path": "spec.memory", "operator": "total_at_most", "value": "3Gi"}
    found = await judged(rule, "spec: {memory: 2Gi}\n---\nspec: {memory: 2Gi}\n")
    assert [(f.id, f.message) for f in found.findings] == [("sum", "4Gi, in all at most 3Gi")]
    found = await judged(rule, "spec: {memory: 1Gi}\n---\nspec: {memory: much}\n")
    assert [(f.id, f.message) for f in found.findings] == [
        ("sum:$[1].spec.memory", "much is no quantity, in all at most 3Gi")
    ]


@pytest.mark.parametrize(("amount", "like", "said"), [
    (9273606144, "2Gi", "8844Mi"), (4 << 30, "3Gi", "4Gi"), (1500, "1", "1500"), (Fraction(3, 2), "1", "1.5"),
    (Fraction(3, 2), "500m", "1500m"), (2500, "2k", "2500"), (3000, "2k", "3k"), ((1 << 30) + 1, "1Gi", "1073741825"),
    (3000, 2000, "3000"), (Fraction(5, 2), "1e0", "2.5"), (0, "1Gi", "0Gi"), (-1024, "1Ki", "-1Ki"),
])  # fmt: skip
def test_a_total_is_said_in_the_unit_of_its_rule(amount: int | Fraction, like: object, said: str) -> None:
    assert quantity(Fraction(amount), like) == said


async def test_a_value_that_is_no_quantity_is_told_as_such() -> None:
    rule = {"id": "memory", "path": "memory", "operator": "at_most", "value": "1024Mi"}
    for value, said in (("lots", "lots is no quantity"), ("true", "true is no quantity"), ("2Gi", "2Gi")):
        (finding,) = (await judged(rule, f"memory: {value}\n")).findings
        assert finding.message == f"{said}, at most 1024Mi"


async def test_a_draft_that_can_not_be_read_fails_with_its_line() -> None:
    found = await judged({"path": "a", "operator": "exists"}, "a: [")
    assert (found.status, found.findings[0].id) == ("failed", "parse")


async def test_a_pattern_that_takes_for_ever_is_an_error_not_a_hang(monkeypatch: pytest.MonkeyPatch) -> None:
    from reflect_lab.evidence.kinds import manifest
    from reflect_lab.evidence.sandbox.limits import Limits

    monkeypatch.setattr(manifest, "_LIMITS", Limits(wall_s=1.0, cpu_s=1))
    found = await judged({"path": "a", "operator": "matches", "value": "(a+)+$"}, f"a: {'a' * 40}b")
    assert found.status == "error"


async def test_two_looks_at_one_draft_say_the_same() -> None:
    rules = [{"path": MEMORY, "operator": "at_most", "value": "1Mi"}, {"path": "kind", "operator": "absent"}]
    one, two = [await evidence_of("rules", {"rules": rules}, POD) for _ in range(2)]
    assert (one.text, one.findings) == (two.text, two.findings) and len(one.findings) == 3


@pytest.mark.parametrize(("rules", "message"), [
    ([], "rules must be a list of rules"),
    ({"path": "a"}, "rules must be a list of rules"),
    (["a"], "rule 1 must be path, operator and value"),
    ([{"path": "a"}], "rule 1: operator is missing"),
    ([{"operator": "exists"}], "rule 1: path is missing"),
    ([{"path": "a", "operator": "<="}], "rule 1: operator '<='"),
    ([{"path": "a", "operator": "at_mots", "value": 1}], "did you mean 'at_most'"),
    ([{"path": "a", "opertor": "exists"}], "unknown key 'opertor'; did you mean 'operator'"),
    ([{"path": "a.[", "operator": "exists"}], "is no path"),
    ([{"path": "a", "operator": "at_most", "value": "lots"}], "value must be a number or a quantity"),
    ([{"path": "a", "operator": "at_most", "value": True}], "value must be a number or a quantity"),
    ([{"path": "a", "operator": "in", "value": "x"}], "value must be a list"),
    ([{"path": "a", "operator": "matches", "value": "("}], "no regular expression"),
    ([{"path": "a", "operator": "matches", "value": 3}], "no regular expression"),
    ([{"path": "a", "operator": "exists", "value": 3}], "exists takes no value"),
    ([{"path": "a", "operator": "exists", "on_violation": "warn"}], "on_violation is failed or denied"),
    ([{"path": "a", "operator": "exists", "requirement": "R9"}], "there is no requirement 'R9'"),
    ([{"path": "a", "operator": "exists", "optional": "yes"}], "optional is true or false"),
    ([{"path": "a", "operator": "exists", "times": "b"}], "times goes with the operator total_at_most"),
    ([{"path": "a", "operator": "exists", "id": "x"}] * 2, "two rules have the id 'x'"),
])  # fmt: skip
async def test_rules_that_can_not_be_used_are_wrong_use(rules: Any, message: str) -> None:
    with pytest.raises(WrongUse) as caught:
        await evidence_of("rules", {"rules": rules}, "a: 1", requirements={"R1": "x"})
    assert message in str(caught.value)


@pytest.mark.parametrize(("value", "amount"), [
    ("2Gi", 2**31), ("2G", 2 * 10**9), ("500m", 0.5), ("1e3", 1000), (1.5, 1.5), ("-3", -3), (".5", 0.5), (0, 0),
])  # fmt: skip
def test_quantities_are_read_exactly(value: object, amount: float) -> None:
    assert number(value) == amount


@pytest.mark.parametrize("value", [True, None, "", "Gi", "1 Gi", "2gi", "1e999999", "0x10", "nan", [1], "1" * 500])
def test_what_is_no_quantity(value: object) -> None:
    assert number(value) is None


def test_true_is_not_one_and_quantities_are_equal_by_value() -> None:
    assert not same(True, 1) and not same(0, False) and same(True, True)
    assert same("1Gi", "1024Mi") and same(1, 1.0) and not same("a", "b")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=8,
)
PATH = st.lists(st.sampled_from([".a", ".b", "[*]", "[0]", "[-1]", '["c"]']), min_size=1, max_size=4).map("".join)


@given(JSON, PATH)
def test_a_path_leads_somewhere_or_is_missing_somewhere(value: object, path: str) -> None:
    """Each place that is found can be followed again, and where nothing is found something is missing."""
    way = steps(path.removeprefix("."))
    found = list(matches(value, way))
    assert found or list(missing(value, way))
    for at, there in found:
        assert list(matches(value, steps(at.replace("$", "", 1).removeprefix(".")))) == [(at, there)]


LIMIT = {"id": "limit", "path": "c[*].m", "operator": "at_most", "value": 1}
ROLE = {"id": "role", "path": "role", "operator": "not_equals", "value": "admin", "on_violation": "denied"}


async def test_a_flood_of_violations_hides_no_denied_rule() -> None:
    draft = "role: admin\nc: [" + ",".join(["{m: 9}"] * 200) + "]\n"
    found = await evidence_of("rules", {"rules": [LIMIT, ROLE]}, draft)
    assert found.status == "denied" and "not permitted: role" in found.text
    assert len(found.findings) == 50 and found.findings[-1].id == "role:$.role"


async def test_each_of_many_broken_rules_is_told() -> None:
    rules = [{"id": f"r{n}", "path": "a", "operator": "equals", "value": n} for n in range(1, 81)]
    found = await evidence_of("rules", {"rules": [LIMIT, *rules]}, "a: 0\nc: [" + ",".join(["{m: 9}"] * 200) + "]\n")
    assert len(found.findings) == 81


SPEC = "$.items[0].spec.replicas"
DEPLOYED = "kind: Deployment, spec: {replicas: 9}"
REPLICAS = {"path": "spec.replicas", "operator": "at_most", "value": 2}
TOTAL = {"path": "c[*].m", "operator": "total_at_most", "value": 10, "times": "n"}


@pytest.mark.parametrize(("rule", "draft", "where"), [
    ({**REPLICAS, "kind": "Deployment"}, f"kind: List\nitems: [{{{DEPLOYED}}}]", SPEC),
    ({**REPLICAS, "kind": "Deployment"}, "kind: DeploymentList\nitems: [{spec: {replicas: 9}}]", SPEC),
    (REPLICAS, "kind: List\nitems: [{kind: List, items: [{spec: {replicas: 9}}]}]", f"$.items[0]{SPEC[1:]}"),
    (REPLICAS, "kind: List\nspec: {replicas: 9}\nitems: [{spec: {replicas: 1}}]", "$.spec.replicas"),
    (REPLICAS, "kind: List\nitems: []", "$.spec"),
    ({**REPLICAS, "path": "items[*].spec.replicas"}, "kind: List\nitems: [{spec: {replicas: 9}}]", SPEC),
    ({**TOTAL, "kind": "Pod"}, "kind: List\nitems: [{kind: Pod, c: [{m: 11}]}]", "c[*].m"),
    (TOTAL, "c: [{m: 100}, {m: -95}]", "c[*].m"),
    (TOTAL, "n: -1\nc: [{m: 9}]", "$.n"),
    (TOTAL, "c: [{m: -1}]", "$.c[0].m"),
    ({**ROLE, "path": "r"}, "r: [admin]", "$.r"),
    ({**ROLE, "path": "r"}, "r: {name: admin}", "$.r"),
    ({"path": "r", "operator": "not_in", "value": ["admin"]}, "r: [admin]", "$.r"),
    ({"path": "r", "operator": "not_matches", "value": "adm"}, "r: [admin]", "$.r"),
    ({"path": "r", "operator": "not_matches", "value": "^12"}, "r: 123", "$.r"),
    ({"path": "a", "operator": "exists"}, "a:", "$.a"),
    ({"path": "a", "operator": "not_equals", "value": "x"}, "a: null", "$.a"),
    ({"path": "m", "operator": "at_most", "value": 1}, "m: 1.00000000000000001", "$.m"),
    ({"path": "m", "operator": "at_most", "value": 1}, '{"m": 1.00000000000000001}', "$.m"),
    ({"path": "m", "operator": "equals", "value": 1}, "m: 1.00000000000000001", "$.m"),
])  # fmt: skip
async def test_what_slips_by_a_rule_is_a_violation(rule: dict[str, Any], draft: str, where: str) -> None:
    found = await judged(rule, draft)
    assert found.status in ("failed", "denied")
    assert next(f.location.value for f in found.findings if f.location) == where


@pytest.mark.parametrize(("rule", "draft"), [
    ({**REPLICAS, "kind": "Deployment"}, "kind: List\nitems: [{kind: Deployment, spec: {replicas: 1}}, {kind: Pod}]"),
    (REPLICAS, "kind: List\nitems: [{spec: {replicas: 1}}]"),
    ({**REPLICAS, "path": "items[*].spec.replicas"}, "kind: List\nitems: [{spec: {replicas: 1}}]"),
    ({"path": "a", "operator": "equals", "value": None}, "a:"),
    ({"path": "a", "operator": "in", "value": [None, 1]}, "a:"),
    ({"path": "a", "operator": "not_equals", "value": "x", "optional": True}, "a:"),
    ({"path": "a", "operator": "not_equals", "value": "latest"}, "a: 1.2"),
    ({"path": "a", "operator": "equals", "value": 1.5}, "a: 1.50"),
    ({"path": "roles[*]", "operator": "not_equals", "value": "admin"}, "roles: [reader]"),
])  # fmt: skip
async def test_what_keeps_a_rule_passes(rule: dict[str, Any], draft: str) -> None:
    assert (await judged(rule, draft)).status == "passed"
