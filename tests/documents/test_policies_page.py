"""docs/policies.md says what the code does: every key, alias, default and bound."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

import pytest
import yaml

from reflect_lab.core.errors import WrongUse
from reflect_lab.core.policy import Policy, Section
from reflect_lab.documents.policy_file import load_policy, policy_mapping, policy_names
from reflect_lab.documents.policy_keys import ALIASES, READERS, SECTIONS, Key

PAGE = (Path(__file__).parents[2] / "docs" / "policies.md").read_text("utf-8")
ROWS = {
    cells[0].strip("`"): cells
    for line in PAGE.partition("## The keys")[2].splitlines()
    if line.startswith("| `")
    for cells in [[cell.strip() for cell in line.strip("|").split("|")]]
}


def key(name: str) -> Key:
    section, _, word = name.rpartition(".")
    return Key(section, word)


def words(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


def accepts(name: str, value: Any) -> bool:
    """Whether a file with this one value is read; a section is given as the only one of its list."""
    at = key(name)
    given = [value] if name in ("views.generator", "views.critic") else value
    try:
        load_policy({at.section: {at.name: given}} if at.section else {at.name: given})
    except WrongUse:
        return False
    return True


def test_the_table_holds_every_field_of_a_policy_and_every_key_that_is_read() -> None:
    in_dataclasses = [f.name for f in fields(Policy) if f.name not in (*SECTIONS, "sha256")]
    in_dataclasses += [f"{s}.{f.name}" for s in SECTIONS for f in fields(getattr(Policy(), s))]
    in_readers = [str(Key(section, name)) for section, names in READERS.items() for name in names]
    assert sorted(ROWS) == sorted(in_dataclasses) == sorted(in_readers)


def test_every_alias_stands_beside_its_key() -> None:
    found = {name: words(cells[5]) for name, cells in ROWS.items()}
    known: dict[str, list[str]] = {name: [] for name in ROWS}
    for alias in ALIASES:
        known[str(alias.of)].append(str(alias.key))
    assert {name: sorted(names) for name, names in found.items()} == {n: sorted(a) for n, a in known.items()}


@pytest.mark.parametrize("name", ROWS)
def test_the_default_is_that_of_the_code(name: str) -> None:
    at, content = key(name), policy_mapping(Policy())
    default = content[at.section][at.name] if at.section else content[at.name]
    assert yaml.safe_load(words(ROWS[name][3])[0]) == default


@pytest.mark.parametrize("name", ROWS)
def test_the_bounds_are_those_of_the_code(name: str) -> None:
    bounds = ROWS[name][4]
    if least := re.search(r">= (\d+)", bounds):
        assert accepts(name, int(least[1])) and not accepts(name, int(least[1]) - 1)
    elif bounds == "0..1":
        assert accepts(name, 0) and accepts(name, 1) and not accepts(name, 1.001) and not accepts(name, -0.001)
    elif bounds == "> 0 each":
        assert accepts(name, {"EUR": 0.001}) and not accepts(name, {"EUR": 0})
    elif bounds != "text":
        assert all(accepts(name, yaml.safe_load(word)) for word in words(bounds)), bounds
    assert accepts(name, None) == ("`null`" in bounds)
    assert not accepts(name, "nonsense") or bounds == "text"


def test_every_word_that_a_choice_knows_stands_in_its_row() -> None:
    for name, cells in ROWS.items():
        at = key(name)
        owner = type(getattr(Policy(), at.section)) if at.section else Policy
        hint = get_type_hints(owner)[at.name]
        known = get_args(Section) if get_origin(hint) is tuple else get_args(hint)
        if get_origin(hint) in (Literal, tuple):
            assert words(cells[4]) == list(known), name


def test_the_page_names_the_shipped_policies() -> None:
    section = PAGE.partition("## The shipped policies")[2].partition("## ")[0]
    assert sorted(re.findall(r"^\| `([^`]+)` \|", section, re.MULTILINE)) == list(policy_names())


def test_the_example_is_a_policy() -> None:
    example = PAGE.partition("```yaml\n")[2].partition("```")[0]
    policy = load_policy(example)
    assert (policy.profile, policy.limits.revisions, policy.rules.coverage) == ("our-notes", 1, "required")
