"""What the name of a check means: kinds, the user's own, plug-ins; and what shadows nothing silently."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from pydantic import BaseModel

from reflect_lab.core.errors import WrongUse
from reflect_lab.core.evidence import Evidence
from reflect_lab.core.task import CheckSpec, Requirement, Task
from reflect_lab.documents.task_cell import parse_cell
from reflect_lab.evidence.gather import Checks
from reflect_lab.evidence.kinds.custom import check
from reflect_lab.evidence.named import CheckRegistry, Resolved
from tests.evidence.evidence_support import Remember, run_with

Install = Callable[[str, str, str], None]


class Invoice(BaseModel):
    total: int


@check(requirements=["R1"])
def is_short(draft: str, most: int = 10) -> bool:
    """The reply is short."""
    return len(draft) <= most


def task(*specs: CheckSpec) -> Task:
    return Task(text="Write.", requirements=(Requirement(id="R1", text="short"),), checks=specs)


def custom(name: str, **options: object) -> CheckSpec:
    return CheckSpec(name=name, kind="custom", options=options)


async def performed(resolved: Resolved, draft: str) -> tuple[Evidence, ...]:
    checks = Checks(resolved.task, kinds=resolved.kinds, named=resolved.named, objects=resolved.objects)
    return await checks.gather(run_with(resolved.task, draft), Remember())


def test_front_matter_names_built_in_kinds_with_their_options() -> None:
    cell = """---
checks:
- facts
- text: {max_words: 9}
- quota: {kind: rules, rules: [{path: a, operator: exists}], requirements: [R1]}
- yaml: {required: [kind]}
- yaml: {required: [spec]}
- citations: {sources: [a1]}
---
Write.
- [ ] short
"""
    resolved = CheckRegistry().resolve(parse_cell(cell).task)
    assert [(s.name, s.kind, s.gate, s.requirements) for s in resolved.task.checks] == [
        ("facts", "facts", False, ()), ("text", "text", False, ()), ("quota", "rules", False, ("R1",)),
        ("yaml", "yaml", True, ()), ("yaml:2", "yaml", True, ()), ("citations", "citations", False, ()),
    ]  # fmt: skip
    assert resolved.task.language == "yaml"
    assert "kind" not in resolved.task.checks[2].options


def test_a_task_that_names_nothing_new_stays_as_it_is() -> None:
    spec = CheckSpec(name="text", kind="text", options={"max_words": 9})
    asked = task(spec)
    assert CheckRegistry().resolve(asked).task is asked
    again = CheckRegistry().resolve(task(custom("yaml", required=["a"]))).task
    assert CheckRegistry().resolve(again).task is again and again.sha256 != task(custom("yaml")).sha256


def test_a_gate_can_be_said_and_unsaid() -> None:
    (one, two) = CheckRegistry().resolve(task(custom("yaml", gate=False), custom("facts", gate=True))).task.checks
    assert (one.gate, two.gate) == (False, True)
    with pytest.raises(WrongUse, match="gate is true or false, not 'no'"):
        CheckRegistry().resolve(task(custom("yaml", gate="no")))


async def test_a_function_of_the_namespace_is_found_by_its_name() -> None:
    resolved = CheckRegistry({"f": is_short, "other": 3}).resolve(task(custom("is_short", most=3)))
    assert resolved.task.checks[0].requirements == ("R1",)
    (evidence,) = await performed(resolved, "long")
    assert (evidence.status, evidence.kind, evidence.requirements) == ("failed", "custom", ("R1",))


async def test_a_model_class_is_a_gate_by_its_own_name_or_under_another() -> None:
    resolved = CheckRegistry({"Invoice": Invoice}).resolve(
        task(custom("bill", kind="pydantic", model="Invoice")), ["Invoice"]
    )
    assert [(s.name, s.kind, s.gate) for s in resolved.task.checks] == [
        ("bill", "pydantic", True), ("Invoice", "pydantic", True),
    ]  # fmt: skip
    assert [e.status for e in await performed(resolved, '{"total": 3}')] == ["passed", "passed"]


def test_names_that_are_asked_for_come_after_those_of_the_task_once() -> None:
    registry, asked = CheckRegistry().with_checks([is_short, "facts", "is_short", "facts"])
    assert asked == ("is_short", "facts")
    resolved = registry.resolve(task(CheckSpec(name="facts", kind="facts")), asked)
    assert [s.name for s in resolved.task.checks] == ["facts", "is_short"]


def test_what_was_handed_over_is_known_to_that_run_only() -> None:
    registry = CheckRegistry()
    registry.with_checks([is_short])
    with pytest.raises(WrongUse, match="no check named 'is_short'"):
        registry.resolve(task(custom("is_short")))


@pytest.mark.parametrize(("name", "message"), [
    ("is_shrt", "there is no check named 'is_shrt'; did you mean 'is_short'?"),
    ("texts", "there is no check named 'texts'; did you mean 'text'?"),
    ("plain", "plain is a function here, but no check: decorate it with @rl.check"),
])  # fmt: skip
def test_a_name_that_means_nothing_is_wrong_use(name: str, message: str) -> None:
    with pytest.raises(WrongUse) as caught:
        CheckRegistry({"is_short": is_short, "plain": len}).resolve(task(), [name])
    assert str(caught.value) == message


def test_a_kind_that_means_nothing_and_a_requirement_that_is_not_there_are_wrong_use() -> None:
    with pytest.raises(WrongUse, match="check a: there is no kind 'rule'; did you mean 'rules'"):
        CheckRegistry().resolve(task(custom("a", kind="rule")))
    with pytest.raises(WrongUse, match="check is_short: there is no requirement 'R1'"):
        CheckRegistry({"is_short": is_short}).resolve(Task(text="x"), ["is_short"])


@pytest.mark.parametrize("value", [len, 3, int, "text", None])
def test_only_decorated_functions_and_model_classes_can_be_handed_over(value: object) -> None:
    if isinstance(value, str):
        return  # a name
    with pytest.raises(WrongUse, match="is no check: decorate the function"):
        CheckRegistry().with_checks([value])


def test_a_scripted_name_is_left_to_the_script() -> None:
    for name in ("rules", "nobody", "yaml"):
        asked = task(custom(name))
        assert CheckRegistry().resolve(asked, scripted=(name,)).task is asked


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Install:
    """Installs a package with one entry point, as pip would: a module and its metadata on the path."""

    def installed(package: str, entry: str, code: str) -> None:
        (tmp_path / f"{package}.py").write_text(code)
        info = tmp_path / f"{package}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(f"[reflect_lab.checks]\n{entry} = {package}:made\n")
        monkeypatch.delitem(sys.modules, package, raising=False)

    monkeypatch.syspath_prepend(str(tmp_path))
    return installed


PLUGIN = """
from reflect_lab.evidence.check import Options, Report
class Made:
    rank = "deterministic"
    is_gate = True
    language = "json"
    def __init__(self, spec, surroundings):
        self.word = Options(spec, ("word",)).text("word")
    async def run(self, draft):
        return Report(status="passed" if self.word in draft.text else "failed", text="looked")
made = Made
"""


async def test_a_plug_in_is_a_kind_and_imported_only_when_it_is_named(install: Install) -> None:
    install("haiku_checks", "haiku", PLUGIN)
    registry = CheckRegistry()
    assert "haiku" in registry.names
    registry.resolve(task(custom("yaml")))
    assert "haiku_checks" not in sys.modules
    resolved = registry.resolve(task(custom("haiku", word="sea"), custom("b", kind="haiku", word="sky")))
    assert [(s.kind, s.gate) for s in resolved.task.checks] == [("haiku", True)] * 2
    assert resolved.task.language == "json"
    assert [e.status for e in await performed(resolved, "the sea")] == ["passed", "failed"]
    again = registry.resolve(resolved.task)
    assert [e.kind for e in await performed(again, "the sea")] == ["haiku", "haiku"], "also from a record"


async def test_a_plug_in_may_be_a_decorated_function_or_a_model_class(install: Install) -> None:
    install("p_one", "polite", "import reflect_lab as rl\n@rl.check\ndef made(draft):\n    return 'please' in draft\n")
    install("p_two", "letter", "from pydantic import BaseModel\nclass made(BaseModel):\n    to: str\n")
    resolved = CheckRegistry().resolve(task(), ["polite", "letter"])
    assert [(s.name, s.kind) for s in resolved.task.checks] == [("polite", "custom"), ("letter", "pydantic")]
    assert [e.status for e in await performed(resolved, '{"to": "please"}')] == ["passed", "passed"]


@pytest.mark.parametrize(("code", "message"), [
    ("import no_such_module_here", "ModuleNotFoundError: No module named 'no_such_module_here'"),
    ("raise RuntimeError('two\\nlines')", "RuntimeError: two lines"),
    ("raise RuntimeError('\\x1b[31mred')", "RuntimeError: "),
    ("import sys\nsys.exit('bye')", "can't be loaded: SystemExit: bye"),
    ("", "AttributeError"),
    ("made = 3", "is 3, no check"),
])  # fmt: skip
def test_a_broken_plug_in_is_one_clear_line(install: Install, code: str, message: str) -> None:
    install("broken_checks", "broken", code)
    with pytest.raises(WrongUse) as caught:
        CheckRegistry().resolve(task(), ["broken"])
    text = str(caught.value)
    assert text.startswith("check broken: the plug-in broken of broken_checks") and message in text
    assert "\n" not in text and "\x1b" not in text
    CheckRegistry().resolve(task(custom("facts")))  # it hurts nobody who does not name it


CLASS = """
class made:
    rank = "deterministic"
    def __init__(self, spec, surroundings): pass
    async def run(self, draft): pass
"""


@pytest.mark.parametrize(("code", "message"), [
    ("def made(draft): return True", "it is a function, but no check: decorate it with @rl.check"),
    (CLASS.replace("spec, surroundings", "spec"), "its constructor must take (spec, surroundings)"),
    (CLASS.replace("pass", "{}['x']", 1), "it can't be made: KeyError: 'x'"),
    (CLASS.replace('rank = "deterministic"', ""), "it has no rank; give its class one: rank = 'deterministic'"),
    (CLASS.replace("deterministic", "executes"), "its rank is 'executes'; did you mean 'executed'?"),
    (CLASS.replace('"deterministic"', "['executed']"), "its rank is ['executed']; "),
    (CLASS.replace("async def", "def"), "it has no coroutine run; write: async def run(self, draft)"),
    (CLASS.replace("run(", "runs("), "it has no coroutine run"),
    (CLASS.replace("(self, draft)", "(self)"), "its run must take the draft and nothing else"),
    (CLASS.replace("rank =", "language = 3; rank ="), "its language is a text such as 'json', not 3"),
])  # fmt: skip
def test_a_plug_in_that_is_no_check_is_told_before_anything_runs(install: Install, code: str, message: str) -> None:
    install("broken_checks", "broken", code)
    with pytest.raises(WrongUse) as caught:
        resolved = CheckRegistry().resolve(task(), ["broken"])
        Checks(resolved.task, kinds=resolved.kinds)
    assert str(caught.value).startswith("check broken: the plug-in broken of broken_checks: " + message)


def test_two_plug_ins_of_one_name_are_wrong_use(install: Install) -> None:
    install("first_checks", "haiku", PLUGIN)
    install("second_checks", "haiku", PLUGIN)
    with pytest.raises(WrongUse, match="first_checks and second_checks both bring a check haiku; uninstall one"):
        CheckRegistry().resolve(task(), ["haiku"])


def test_a_plug_in_never_replaces_a_built_in_kind_and_never_silently(install: Install) -> None:
    install("sly_checks", "facts", PLUGIN)
    resolved = CheckRegistry().resolve(task(custom("facts")))
    (notice,) = resolved.notices
    assert notice.kind == "plug_in_ignored"
    assert notice.message == "the check facts of sly_checks is not used: facts is a built-in kind of check"
    assert "sly_checks" not in sys.modules
    assert CheckRegistry().resolve(task(custom("yaml"))).notices == ()


def test_a_users_own_name_never_replaces_a_built_in_kind() -> None:
    facts = type("facts", (BaseModel,), {})
    with pytest.raises(WrongUse, match="facts is a built-in kind of check; give yours another name"):
        CheckRegistry().with_checks([facts])
