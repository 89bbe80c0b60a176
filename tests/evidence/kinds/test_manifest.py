"""The `yaml` gate: what is read, what must be there, what is hostile."""

from __future__ import annotations

import json

import pytest

from reflect_lab.core.errors import WrongUse
from reflect_lab.documents.task_cell import parse_cell
from reflect_lab.evidence.kinds.manifest_program import Unreadable, read
from tests.evidence.evidence_support import evidence_of, gather

MANIFEST = """apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
spec:
  replicas: 2
"""
BOMB = "a: &a [x, x]\nb: &b [*a, *a]\nc: &c [*b, *b]\n"


async def test_a_manifest_that_holds_what_it_must_passes_and_is_a_gate() -> None:
    found = await evidence_of("yaml", {"like": "kubernetes", "kinds": ["Deployment"], "required": "spec"}, MANIFEST)
    assert (found.status, found.rank, found.findings, found.fix) == ("passed", "deterministic", (), None)


@pytest.mark.parametrize(("draft", "message", "line"), [
    ("a: [1\nb: 2", "not YAML: ", "2"),
    ("a: 1\nb:\n\t- c", "not YAML: a tab, where YAML allows only spaces", "3"),
    ("a:\n  b: 1\n \t c: 2", "not YAML: a tab, where YAML allows only spaces", "3"),
    ("a: @b", "that cannot start any token", "1"),
    ("a: 1\na: 2", "the key a stands there twice", "2"),
    ("a:\n  b: 1\n  b: 2", "the key b stands there twice", "3"),
    (BOMB, "aliases", "2"),
    ("a: !!python/object/apply:os.system ['true']", "tags", "1"),
    ("a: !custom 1", "tags", "1"),
    ("base: {a: 1}\nb:\n  <<: {a: 2}", "merge key", "3"),
    ("[a, b]: 1", "a key is no word", "1"),
    ("# nothing", "it holds nothing", None),
    ('{"a": 1, "a": 2}', "the key a stands there twice", None),
    ("[" * 5000, "nest", "1"),
    ("a: " + "{b: " * 100 + "1" + "}" * 100, "nested too deeply", "1"),
    ("---\n".join(["a: 1\n"] * 300), "more than 200 documents", None),
    ("a: \x00", "not YAML", None),
    ("just words: and: more", "not YAML", "1"),
])  # fmt: skip
async def test_what_can_not_be_read_safely_fails_with_its_line(draft: str, message: str, line: str | None) -> None:
    found = await evidence_of("yaml", {}, draft)
    (finding,) = found.findings
    assert (found.status, finding.id) == ("failed", "parse") and message in finding.message
    assert (finding.location.value if finding.location else None) == line


async def test_every_document_of_a_stream_is_looked_at_and_findings_say_which() -> None:
    draft = MANIFEST + "---\nkind: Service\nmetadata: {}\n---\n- a list\n"
    found = await evidence_of("yaml", {"like": "kubernetes", "kinds": ["Deployment"]}, draft, covers=["R1"])
    assert [(f.id, f.location.value if f.location else None) for f in found.findings] == [
        ("$[1].apiVersion:required", "$[1].apiVersion"),
        ("$[1].metadata.name:required", "$[1].metadata.name"),
        ("$[1].kind:kind", "$[1].kind"),
        ("$[2]:required", "$[2]"),
    ]
    assert {f.requirement for f in found.findings} == {"R1"}
    assert "no mapping" in found.findings[-1].message


@pytest.mark.parametrize("draft", ["a: 2024-05-01", "a: null\nb: .inf\nc: 1_000", "- 1\n- 2", "word", "a: |\n  *not\n"])
async def test_what_is_plain_yaml_passes_where_nothing_is_required(draft: str) -> None:
    assert (await evidence_of("yaml", {}, draft)).status == "passed"


def test_values_are_plain_json_values() -> None:
    assert read("a: 2024-05-01\nb: yes\nc: [1, 2.5, x]") == [{"a": "2024-05-01", "b": True, "c": [1, 2.5, "x"]}]
    assert read('{"a":\t1}') == [{"a": 1}], "JSON may be indented by tabs"
    with pytest.raises(Unreadable, match="twice"):
        read("a: 1\na: 1")


@pytest.mark.parametrize(("draft", "fix"), [
    ("```yaml\nkind: Job\n```", "kind: Job\n"),
    ("\ufeffkind: Job\n", None),
    ("```\nkind: [\n```", None),
])  # fmt: skip
async def test_a_fence_around_a_manifest_is_taken_away_where_it_is_all_that_is_wrong(
    draft: str, fix: str | None
) -> None:
    assert (await evidence_of("yaml", {"required": ["kind"]}, draft)).fix == fix


async def test_findings_are_capped_and_shown_safely() -> None:
    draft = json.dumps([{"x\x1b[31m": 1}] * 150)
    found = await evidence_of("yaml", {"required": [f"a{n}" for n in range(9)]}, "---\n".join(["b: 1\n"] * 150))
    assert len(found.findings) == 50
    found = await evidence_of("yaml", {"kinds": ["Job"]}, 'kind: "a\\e[31mb"')
    assert "\x1b" not in found.text and "[ESC]" in found.text
    assert (await evidence_of("yaml", {}, draft)).status == "passed"


@pytest.mark.parametrize(("options", "message"), [
    ({"like": "kubernets"}, "did you mean 'kubernetes'"),
    ({"required": "spec..x"}, "is no path"),
    ({"required": ["a[b]"]}, "is no path"),
    ({"required": 3}, "required must be a text or a list"),
    ({"kind": "Job"}, "unknown option 'kind'; did you mean 'kinds'"),
])  # fmt: skip
async def test_options_that_can_not_be_used_are_wrong_use(options: dict[str, object], message: str) -> None:
    with pytest.raises(WrongUse, match=message):
        await evidence_of("yaml", options, "a: 1")


CELL = """Write the manifest.
- [ ] at most 1 GiB

```yaml check R1
like: kubernetes
rules:
- {id: memory, path: "spec.limits.memory", operator: at_most, value: 1Gi}
```
"""


def test_a_yaml_check_block_makes_a_gate_and_a_check_of_rules() -> None:
    task = parse_cell(CELL).task
    gate, rules = task.checks
    assert (gate.name, gate.kind, gate.gate, gate.requirements) == ("yaml:1/syntax", "yaml", True, ())
    assert (rules.name, rules.kind, rules.gate, rules.requirements) == ("yaml:1", "rules", False, ("R1",))
    assert task.language == "yaml"
    (alone,) = parse_cell(CELL.replace("rules:\n- {id", "kinds: [x]\n# {id")).task.checks
    assert (alone.name, alone.gate, alone.requirements) == ("yaml:1", True, ("R1",))


def test_a_yaml_check_block_that_is_no_yaml_is_wrong_use_with_its_line() -> None:
    with pytest.raises(WrongUse, match=r"line 5: .*YAML aliases"):
        parse_cell(CELL.replace("like: kubernetes", "like: *x"))


async def test_a_failed_gate_spares_the_rules() -> None:
    task = parse_cell(CELL).task
    gate, rules = await gather(task, "kind: Pod")
    assert (gate.status, rules.status, rules.executions) == ("failed", "not_run", 0)
    assert "its gate yaml:1/syntax failed" in rules.text
    good = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {limits: {memory: 2Gi}}"
    gate, rules = await gather(task, good)
    assert (gate.status, rules.status) == ("passed", "failed")
    assert rules.findings[0].requirement == "R1"


@pytest.mark.parametrize(("draft", "ids"), [
    ("apiVersion:\nkind:\nmetadata:\n  name:\n", ["$.apiVersion", "$.kind", "$.metadata.name"]),
    ("apiVersion: ''\nkind: []\nmetadata:\n  name: {}\n", ["$.apiVersion", "$.kind", "$.metadata.name"]),
    ("apiVersion: v1\nkind: List\nitems: [{apiVersion: v1, kind: Pod}]\n", ["$.items[0].metadata"]),
    ("apiVersion: v1\nkind: List\nitems: [{apiVersion: v1, kind: Pod, metadata: {name: web}}]\n", []),
])  # fmt: skip
async def test_what_a_manifest_must_hold_is_a_text_in_each_item(draft: str, ids: list[str]) -> None:
    found = await evidence_of("yaml", {"like": "kubernetes"}, draft)
    assert [f.id.removesuffix(":required") for f in found.findings] == ids


@pytest.mark.parametrize("sign", ["=", "<<"])
async def test_a_sign_with_a_meaning_in_old_yaml_is_text(sign: str) -> None:
    assert (await evidence_of("yaml", {}, f"op: {sign}\n")).status == "passed"
    assert read(f"op: {sign}\n") == [{"op": sign}]
