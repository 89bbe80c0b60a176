"""From special blocks and front matter to the checks, facts and labels of a task."""

from __future__ import annotations

import ast
import json
import re
import warnings
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from reflect_lab.core.errors import WrongUse
from reflect_lab.core.task import CheckSpec, Fact
from reflect_lab.documents.cell_blocks import Block
from reflect_lab.documents.front_matter import FrontMatter, NamedCheck
from reflect_lab.documents.strict_yaml import read_mapping
from reflect_lab.documents.suggest import did_you_mean, shown
from reflect_lab.documents.text_options import read_text_options

LANGUAGES = {"python": "python", "python3": "python", "py": "python", "sql": "sql", "yaml": "yaml", "yml": "yaml"}
"""Languages that a check block may have, and the kind of check each means."""

GATED = ("python", "sql")
"""Kinds of checks of code that has to parse first: `NAME/syntax` is the gate."""

SQL_DATABASE = ("database", "tables", "sample", "timeout_s")
"""Options of front matter's `sql` check that hold for the task's `sql check` blocks, too."""

RESERVED_NAMES = ("critic", "whole", "task", "draft")
"""Names of sources that are no checks of the task."""

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:-]*")


@dataclass(frozen=True, kw_only=True)
class Label:
    """Truth for measuring, run after the run and never part of the task. `setup` runs before `code`."""

    language: str
    code: str
    requirements: tuple[str, ...] = ()
    setup: str = ""


@dataclass
class Assembly:
    """What was collected so far, in the order in which it stands in the cell."""

    where: str
    requirement_ids: Collection[str]
    checks: list[CheckSpec] = field(default_factory=list)
    facts: list[Fact] = field(default_factory=list)
    labels: list[Label] = field(default_factory=list)
    lines: dict[str, int] = field(default_factory=dict)
    language: str | None = None
    numbers: Counter[str] = field(default_factory=Counter)
    setups: dict[str, list[Block]] = field(default_factory=dict)
    unused_setups: dict[str, Block] = field(default_factory=dict)

    def fail(self, line: int, message: str) -> WrongUse:
        return WrongUse(f"{self.where}, line {line}: {message}")

    def add(self, spec: CheckSpec, line: int) -> None:
        if spec.name in self.lines:
            raise self.fail(line, f"there is a check {spec.name!r} already (line {self.lines[spec.name]})")
        self.lines[spec.name] = line
        self.checks.append(spec)

    def requirements(self, ids: Sequence[str], line: int) -> tuple[str, ...]:
        for wanted in ids:
            if wanted not in self.requirement_ids:
                hint = did_you_mean(wanted, self.requirement_ids)
                raise self.fail(line, f"there is no requirement {shown(wanted)}; {hint}")
        return tuple(dict.fromkeys(ids))


def assemble(front: FrontMatter, blocks: Sequence[Block], requirement_ids: Collection[str], where: str) -> Assembly:
    """Checks, facts and labels, front matter's first. Raises WrongUse with the line of what can't be used."""
    out = Assembly(where=where, requirement_ids=requirement_ids)
    for named in front.checks:
        _add_named(out, named)
    if front.facts is not None:
        _add_facts(out, [text for text, _ in front.facts], (), front.facts[0][1] if front.facts else 1)
    for block in blocks:
        _READERS[block.word](out, block)
    _give_sql_setup(out)
    for setup in out.unused_setups.values():
        raise out.fail(setup.line, f"no {setup.language} check or label comes after this setup block")
    return out


def _add_named(out: Assembly, named: NamedCheck) -> None:
    options = dict(named.options)
    ids = options.pop("requirements", [])
    if not isinstance(ids, list) or not all(isinstance(i, str) for i in ids):
        raise out.fail(named.line, f"requirements of check {named.name!r} must be a list of ids")
    requirements = out.requirements(ids, named.line)
    if not _NAME.fullmatch(named.name) or named.name in RESERVED_NAMES:
        raise out.fail(named.line, f"{shown(named.name)} can't be the name of a check")
    if named.name == "facts":
        if options:
            raise out.fail(named.line, f"the facts check has no option {shown(next(iter(options)))}")
        _add_facts(out, [], requirements, named.line)
        return
    kind = "custom"
    if named.name == "text":
        kind, options = "text", read_text_options(options, f"{out.where}, line {named.line}: check text")
    elif named.name == "sql":
        kind = "sql"
    out.numbers[named.name] += 1
    number = out.numbers[named.name]
    name = named.name if number == 1 else f"{named.name}:{number}"
    meant = options.get("kind", named.name)
    if kind == "sql" or (meant in GATED and "code" in options):
        _add_gate(out, name, str(meant), named.line)
    out.add(CheckSpec(name=name, kind=kind, requirements=requirements, options=options), named.line)


def _add_facts(out: Assembly, texts: Sequence[str], requirements: tuple[str, ...], line: int) -> None:
    """Further facts; the first time, the facts check too. It covers what any of its blocks names."""
    for text in texts:
        out.facts.append(Fact(index=len(out.facts), text=text))
    for index, spec in enumerate(out.checks):
        if spec.kind == "facts":
            covered = tuple(dict.fromkeys((*spec.requirements, *requirements)))
            out.checks[index] = CheckSpec(name="facts", kind="facts", requirements=covered)
            return
    out.add(CheckSpec(name="facts", kind="facts", requirements=requirements), line)


def _read_facts(out: Assembly, block: Block) -> None:
    name, ids = _words(out, block)
    if name is not None:
        raise out.fail(block.line, "a facts block has no name: all facts are one check, `facts`")
    texts = [" ".join(line.split()) for line in block.content.split("\n") if line.strip()]
    if not texts:
        raise out.fail(block.line, "this facts block is empty")
    _add_facts(out, texts, ids, block.line)


def _read_check(out: Assembly, block: Block) -> None:
    kind = LANGUAGES.get(block.language)
    if kind is None:
        raise out.fail(block.line, f"no check is written in {shown(block.language)}; {_hint(block, LANGUAGES)}")
    given, ids = _words(out, block)
    _refuse_bad_code(out, block, kind)
    out.numbers[kind] += 1
    name = given or f"{kind}:{out.numbers[kind]}"
    if kind == "yaml":
        _add_manifest(out, block, name, ids)
        return
    _add_gate(out, name, kind, block.line)
    options = {"code": block.content, "setup": _setup(out, kind), **_sql_database(out, kind)}
    out.add(CheckSpec(name=name, kind=kind, requirements=ids, options=options), block.line)
    out.language = out.language or kind


def _add_gate(out: Assembly, name: str, kind: str, line: int) -> None:
    """One gate for all checks of a kind: whether the draft parses is not a matter of the check."""
    gate = f"{kind}_syntax"
    if kind in GATED and not any(gate in (spec.kind, spec.name, spec.options.get("kind")) for spec in out.checks):
        out.add(CheckSpec(name=f"{name}/syntax", kind=gate, gate=True), line)
    if kind in GATED:
        out.language = out.language or kind


def _sql_database(out: Assembly, kind: str) -> Mapping[str, object]:
    """What front matter's first `sql` check says of the database."""
    named = next((spec.options for spec in out.checks if spec.kind == kind == "sql"), {})
    return {key: named[key] for key in SQL_DATABASE if key in named}


def _give_sql_setup(out: Assembly) -> None:
    """Front matter's `sql` checks come before any block, and run on what all set-up blocks make."""
    for index, spec in enumerate(out.checks):
        if spec.kind == "sql" and "code" not in spec.options and "sql" in out.setups:
            out.checks[index] = replace(spec, options={**spec.options, "setup": _setup(out, "sql")})


def _add_manifest(out: Assembly, block: Block, name: str, ids: tuple[str, ...]) -> None:
    """A `yaml check` block holds what the draft, a manifest, must be: options of the gate (`required`, `kinds`, `like`)
    and, where it has `rules`, those of a check beside it."""
    entries = read_mapping(block.content, where=out.where, first_line=block.line + 1) or {}
    options = {key: entry.value for key, entry in entries.items()}
    rules = options.pop("rules", None)
    gate = name if rules is None else f"{name}/syntax"
    covered = ids if rules is None else ()
    out.add(CheckSpec(name=gate, kind="yaml", gate=True, requirements=covered, options=options), block.line)
    if rules is not None:
        out.add(CheckSpec(name=name, kind="rules", requirements=ids, options={"rules": rules}), block.line)
    out.language = out.language or "yaml"


def _read_setup(out: Assembly, block: Block) -> None:
    kind = LANGUAGES.get(block.language)
    if kind is None:
        raise out.fail(block.line, f"no setup is written in {shown(block.language)}; {_hint(block, LANGUAGES)}")
    if block.words:
        raise out.fail(block.line, f"a setup block covers no requirement and has no name: {shown(block.words[0])}")
    _refuse_bad_code(out, block, kind)
    out.setups.setdefault(kind, []).append(block)
    out.unused_setups[kind] = block


def _setup(out: Assembly, kind: str) -> str:
    out.unused_setups.pop(kind, None)
    return "".join(block.content for block in out.setups.get(kind, ()))


def _read_label(out: Assembly, block: Block) -> None:
    name, ids = _words(out, block)
    if name is not None:
        raise out.fail(block.line, "a label block has no name")
    kind = LANGUAGES.get(block.language, block.language)
    _refuse_bad_code(out, block, kind)
    out.labels.append(Label(language=kind, code=block.content, requirements=ids, setup=_setup(out, kind)))


def _read_reference(out: Assembly, block: Block) -> None:
    name, ids = _words(out, block)
    out.numbers["reference"] += 1
    options = {"text": block.content, "language": block.language}
    name = name or f"reference:{out.numbers['reference']}"
    out.add(CheckSpec(name=name, kind="reference", requirements=ids, options=options), block.line)


def _read_schema(out: Assembly, block: Block) -> None:
    if block.language != "json":
        raise out.fail(block.line, f"a schema block is written in json, not in {shown(block.language)}")
    name, ids = _words(out, block)
    out.numbers["schema"] += 1
    name = name or f"schema:{out.numbers['schema']}"
    options = {"schema": _json_schema(out, block)}
    out.add(CheckSpec(name=name, kind="json_schema", gate=True, requirements=ids, options=options), block.line)
    out.language = out.language or "json"


def _json_schema(out: Assembly, block: Block) -> Mapping[str, object]:
    def no_constant(name: str) -> object:
        raise ValueError(f"{name} is no JSON value")

    try:
        schema = json.loads(block.content, parse_constant=no_constant)
    except json.JSONDecodeError as error:
        raise out.fail(block.line + error.lineno, f"this schema is not valid JSON: {error.msg}") from None
    except (ValueError, RecursionError) as error:
        raise out.fail(block.line, f"this schema can't be read: {error}") from None
    if not isinstance(schema, dict):
        raise out.fail(block.line, "a JSON Schema is an object in { }")
    return schema  # whether it is a valid schema is the check's matter: importing the validator costs seconds


def _words(out: Assembly, block: Block) -> tuple[str | None, tuple[str, ...]]:
    """The name and the requirement ids in a block's info string."""
    name: str | None = None
    ids: list[str] = []
    for word in block.words:
        key, separator, value = word.partition("=")
        if not separator:
            ids.append(word)
        elif key != "name":
            raise out.fail(
                block.line, f"a {block.word} block has no option {shown(key)}; {did_you_mean(key, ['name'])}"
            )
        elif name is not None or not _NAME.fullmatch(value) or value in RESERVED_NAMES:
            raise out.fail(block.line, f"{shown(word)} can't name this block: one word of letters, digits and _ . : -")
        else:
            name = value
    return name, out.requirements(ids, block.line)


def _refuse_bad_code(out: Assembly, block: Block, kind: str) -> None:
    if not block.content.strip():
        raise out.fail(block.line, f"this {block.word} block is empty")
    if kind != "python":
        return
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(block.content)
    except SyntaxError as error:
        line = block.line + (error.lineno or 0)
        raise out.fail(line, f"this {block.word} block is not valid Python: {error.msg}") from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise out.fail(block.line, f"this {block.word} block can't be read as Python: {error}") from None
    if not tree.body:
        raise out.fail(block.line, f"this {block.word} block holds no code")


def _hint(block: Block, known: Mapping[str, str]) -> str:
    return did_you_mean(block.language, known)


_READERS = {
    "check": _read_check,
    "facts": _read_facts,
    "label": _read_label,
    "reference": _read_reference,
    "schema": _read_schema,
    "setup": _read_setup,
}
