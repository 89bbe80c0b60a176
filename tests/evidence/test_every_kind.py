"""What holds of every kind of check: the same twice, a place for what is wrong, one clear line for a wrong option."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from reflect_lab.core.errors import WrongUse
from reflect_lab.core.evidence import Evidence
from reflect_lab.core.task import CheckSpec, Fact, Requirement, Task
from reflect_lab.evidence.check import Options, Surroundings
from reflect_lab.evidence.gather import Checks
from reflect_lab.evidence.kinds.custom import check
from reflect_lab.evidence.look import look
from reflect_lab.evidence.named import CheckRegistry
from reflect_lab.evidence.registry import BUILT_IN
from tests.evidence.evidence_support import Remember, run_with


class Invoice(BaseModel):
    number: str
    total: int


@check
def is_polite(draft: str, words: int = 1) -> list[str]:
    """The reply says please and thank you."""
    return [f"{word} is missing" for word in ("please", "thank you") if word not in draft]


@check
async def is_signed(draft: str) -> bool:
    """The reply is signed."""
    return "Yours" in draft


LINT = """import json, sys
found = [{"id": word, "message": "a long word", "line": 1} for word in sys.stdin.read().split() if len(word) > 4]
print(json.dumps(found))
sys.exit(bool(found))"""


@dataclass(frozen=True)
class Example:
    """A draft in which a check finds what it is there for, and one in which it finds nothing."""

    wrong: str
    right: str
    options: Mapping[str, object] = field(default_factory=dict)


EXAMPLES: dict[str, Example] = {
    "citations": Example("Paid [doc-7], sent [doc-9].", "Paid [doc-1].", {"sources": ["doc-1", "doc-2"]}),
    "command": Example("three words", "one two", {"argv": [sys.executable, "-c", LINT], "output": "json"}),
    "facts": Example("INV-9 of 2026-08-25 over 3 EUR in 5 days", "INV-1 of 2026-05-01"),
    "json_schema": Example(
        '{"a": "x", "b": -1}', '{"a": 1, "b": 1}',
        {"schema": {"properties": {"a": {"type": "integer"}, "b": {"minimum": 0}}, "required": ["a"]}},
    ),
    "pydantic": Example('{"total": "many"}', '{"number": "INV-1", "total": 3}', {"model": "Invoice"}),
    "python": Example(
        "def f(xs): return {x for x in xs}\ndef g(): raise ValueError('no')",
        "def f(xs): return list(xs)\ndef g(): return 1",
        {"code": "assert f('abc') == ['a', 'b', 'c']\nassert g() == 1\nfor x in range(2):\n    assert x in f([0, 1])"},
    ),
    "python_syntax": Example("def f(:\n", "x = 1"),
    "reference": Example('{"b": 1, "a": 2}', '{"a": 1, "b": 1.0}', {"text": '{"a": 1, "b": 1}'}),
    "ruff": Example("import os\nimport re\nx = y\n", "x = 1\n", {"select": ["F"]}),
    "rules": Example(
        "spec: {memory: 2Gi, replicas: 3}", "spec: {memory: 1Gi, replicas: 1}",
        {"rules": [
            {"path": "spec.memory", "operator": "at_most", "value": "1Gi"},
            {"path": "spec.replicas", "operator": "in", "value": [1, 2]},
        ]},
    ),
    "sql": Example(
        "SELECT sum(o.total) AS total FROM orders o JOIN lines l ON l.day = o.day",
        "SELECT sum(total) AS total FROM orders",
        {"setup": "CREATE TABLE orders AS SELECT DATE '2026-05-01' AS day, 2 AS total;\n"
                  "CREATE TABLE lines AS SELECT DATE '2026-05-01' AS day, range AS n FROM range(3)",
         "totals": {"total": 2}},
    ),
    "sql_syntax": Example("SELEC 1", "SELECT 1"),
    "text": Example(
        "it is your fault,\nthe fault", "thank you", {"must": ["thank"], "must_not": ["fault"], "min_words": 1}
    ),
    "yaml": Example(
        "spec: {}\nkind: Pod\n", "kind: Job\nspec: {template: {}}\n",
        {"kinds": ["Job"], "required": ["spec.template"]},
    ),
    "is_polite": Example("hello", "please, thank you"),
    "is_signed": Example("hello", "Yours, A."),
}  # fmt: skip
TASK = Task(
    text="Write it.",
    facts=(Fact(index=0, text="Invoice INV-1 of 1 May 2026."),),
    requirements=(Requirement(id="R1", text="right"),),
)
ROOT = Path(__file__).parents[2]
TIMES = ("cpu_s", "peak_rss_bytes")


def test_every_kind_has_its_example() -> None:
    assert sorted(EXAMPLES) == sorted([*BUILT_IN, "is_polite", "is_signed"])


async def looked(kind: str, draft: str) -> Evidence:
    """What a check finds, made anew for each look, without what takes its time."""
    given = {"is_polite": is_polite, "is_signed": is_signed}.get(kind)
    registry, _ = CheckRegistry({"Invoice": Invoice}).with_checks([given] if given else [])
    spec = CheckSpec(name=kind, kind="custom", options=EXAMPLES[kind].options, requirements=("R1",))
    resolved = registry.resolve(replace(TASK, checks=(spec,), sha256=""))
    checks = Checks(
        resolved.task, code_is_trusted=True, kinds=resolved.kinds, named=resolved.named, objects=resolved.objects
    )
    (evidence,) = await checks.gather(run_with(resolved.task, draft), Remember())
    kept = {name: value for name, value in evidence.provenance.items() if name not in TIMES}
    return replace(evidence, provenance=kept, seconds=0.0, began=None)


@pytest.mark.parametrize("kind", sorted(EXAMPLES))
async def test_two_looks_at_one_draft_say_the_same(kind: str) -> None:
    example = EXAMPLES[kind]
    first, right = await looked(kind, example.wrong), await looked(kind, example.right)
    assert (first.status, right.status) == ("failed", "passed"), f"{first.text}\n{right.text}"
    assert (await looked(kind, example.wrong), await looked(kind, example.right)) == (first, right)


async def all_said() -> str:
    """What all checks say of all examples, as JSON."""
    drafts = [(kind, draft) for kind, one in sorted(EXAMPLES.items()) for draft in (one.wrong, one.right)]
    return json.dumps([asdict(await looked(kind, draft)) for kind, draft in drafts], sort_keys=True)


async def test_another_process_says_the_same_whatever_its_hashes_are() -> None:
    code = "import asyncio; from tests.evidence import test_every_kind as here; print(asyncio.run(here.all_said()))"

    async def said(seed: str) -> bytes:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-c",
            code,
            env={**os.environ, "PYTHONHASHSEED": seed},
            cwd=ROOT,
            stdout=asyncio.subprocess.PIPE,
        )
        return (await process.communicate())[0]

    one, other = await asyncio.gather(said("1"), said("2"))
    assert len(json.loads(one)) == 2 * len(EXAMPLES) and one == other


@pytest.mark.parametrize("kind", sorted(EXAMPLES))
async def test_what_is_wrong_has_a_place_and_covers_the_checks_requirement(kind: str) -> None:
    evidence = await looked(kind, EXAMPLES[kind].wrong)
    assert evidence.failed_findings and {f.requirement for f in evidence.failed_findings} == {"R1"}
    # A case of a python check is named by its own text; it has a line where the draft raised.
    located = [f for f in evidence.failed_findings if kind != "python" or "raised" in f.message]
    assert located and all(f.location is not None for f in located)
    assert all(f.location and f.location.value for f in located if f.location and f.location.kind != "whole")
    assert len({f.id for f in evidence.findings}) == len(evidence.findings)


@pytest.mark.parametrize("kind", sorted(BUILT_IN))
def test_a_wrong_option_is_one_line_that_names_the_check_the_option_and_the_nearest_right_one(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    known: list[str] = []
    real = Options.__init__

    def noting(self: Options, spec: CheckSpec, options: Any) -> None:
        known.extend(options := tuple(options))
        real(self, spec, options)

    monkeypatch.setattr(Options, "__init__", noting)
    BUILT_IN[kind](spec(kind, EXAMPLES[kind].options), Surroundings(task=TASK, objects={"Invoice": Invoice}))
    monkeypatch.undo()
    for option in known or ["any"]:
        said = refused(kind, {**EXAMPLES[kind].options, f"{option}x": 1})
        assert said.startswith(f"check mine: unknown option '{option}x'; ") and "\n" not in said
        assert said.endswith(f"did you mean '{option}'?" if known else "there is none here")


@pytest.mark.parametrize(("kind", "option"), [
    ("citations", "sources"), ("command", "argv"), ("json_schema", "schema"), ("pydantic", "model"), ("python", "code"),
    ("reference", "text"), ("rules", "rules"),
])  # fmt: skip
def test_an_option_that_is_missing_is_named_with_what_to_do(kind: str, option: str) -> None:
    said = refused(kind, {k: v for k, v in EXAMPLES[kind].options.items() if k != option})
    assert said == f"check mine: the option {option} is missing; give it as {option}: …"


@pytest.mark.parametrize("kind", sorted(k for k in BUILT_IN if EXAMPLES[k].options))
@pytest.mark.parametrize("value", [object(), 3.5, {"a": {"b": object()}}, [None]])
def test_an_option_of_another_type_is_wrong_use_or_what_it_says(kind: str, value: object) -> None:
    for option in EXAMPLES[kind].options:
        said = refused(kind, {**EXAMPLES[kind].options, option: value})
        assert said == "" or (said.startswith("check mine: ") and option.rstrip("s") in said and "\n" not in said)


def spec(kind: str, options: Mapping[str, object]) -> CheckSpec:
    return CheckSpec(name="mine", kind=kind, options=options)


def refused(kind: str, options: Mapping[str, object]) -> str:
    """The words with which options are refused; none where they are taken."""
    try:
        BUILT_IN[kind](spec(kind, options), Surroundings(task=TASK, objects={"Invoice": Invoice}))
    except WrongUse as wrong:
        return str(wrong)
    return ""


@pytest.mark.parametrize(("kind", "options", "draft", "fix"), [
    ("text", {"must_not": [r"(?m)[ \t]+$"]}, "one \ntwo\t\n", "one\ntwo\n"),
    ("text", {"must_not": [r"\n\n\Z"]}, "one\n\n\n", "one\n"),
    ("text", {"must_not": ["\r"]}, "one\r\ntwo\r\n", "one\ntwo\n"),
    ("text", {"must_not": ["  "]}, "one  two", None),
    ("text", {"must_not": [" $"], "must": ["three"]}, "one ", None),
    ("yaml", {}, "a:\n\tb:\n\t\t- 1\n", "a:\n  b:\n    - 1\n"),
    ("yaml", {}, "a:\n\tb: 1\n  c: 2\n", None),
    ("yaml", {"required": ["c"]}, "a:\n\tb: 1\n", None),
    ("citations", {"sources": ["doc-1", "S2"]}, "One [DOC-1, s2] and [Doc-1].", "One [doc-1, S2] and [doc-1]."),
    ("citations", {"sources": ["doc-1"]}, "One [DOC-1] and [doc-2].", None),
    ("citations", {"sources": ["a1", "A1", "b1"]}, "One [B1].", None),
])  # fmt: skip
def test_a_fix_is_offered_where_it_has_one_reading_and_mends_all(
    kind: str, options: dict[str, object], draft: str, fix: str | None
) -> None:
    found = look(kind, draft, options)
    assert (found.status, found.evidence.fix) == ("failed", fix)
    if fix is not None:
        assert look(kind, fix, options).status == "passed"
