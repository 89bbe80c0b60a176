"""Which kinds of checks there are."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from reflect_lab.evidence.check import Factory
from reflect_lab.evidence.kinds.citations import CitationsCheck
from reflect_lab.evidence.kinds.command import CommandCheck
from reflect_lab.evidence.kinds.facts import FactsCheck
from reflect_lab.evidence.kinds.manifest import YamlCheck
from reflect_lab.evidence.kinds.model_class import PydanticCheck
from reflect_lab.evidence.kinds.reference import ReferenceCheck
from reflect_lab.evidence.kinds.ruff import RuffCheck
from reflect_lab.evidence.kinds.rules import RulesCheck
from reflect_lab.evidence.kinds.schema import SchemaCheck
from reflect_lab.evidence.kinds.text import TextCheck
from reflect_lab.evidence.python.check import PythonCheck, PythonSyntaxCheck
from reflect_lab.evidence.sql.check import SqlCheck, SqlSyntaxCheck

BUILT_IN: Mapping[str, Factory] = MappingProxyType(
    {
        "citations": CitationsCheck,
        "command": CommandCheck,
        "facts": FactsCheck,
        "json_schema": SchemaCheck,
        "pydantic": PydanticCheck,
        "python": PythonCheck,
        "python_syntax": PythonSyntaxCheck,
        "reference": ReferenceCheck,
        "ruff": RuffCheck,
        "sql": SqlCheck,
        "sql_syntax": SqlSyntaxCheck,
        "rules": RulesCheck,
        "text": TextCheck,
        "yaml": YamlCheck,
    }
)
"""By the `kind` of a check's spec."""

NEEDED: Mapping[str, tuple[str, ...]] = MappingProxyType({"rules": ("yaml",)})
"""Kinds of gates without which a check of a kind has nothing to look at, beside the one of its own language."""


def needed_gates(kind: str) -> tuple[str, ...]:
    """The kinds of gates whose failure spares a check of this kind: `python_syntax` for `python`, and so on."""
    return (f"{kind}_syntax", *NEEDED.get(kind, ()))
