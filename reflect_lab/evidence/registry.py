"""Which kinds of checks there are."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from reflect_lab.evidence.check import Factory
from reflect_lab.evidence.citations import CitationsCheck
from reflect_lab.evidence.command import CommandCheck
from reflect_lab.evidence.facts import FactsCheck
from reflect_lab.evidence.manifest import YamlCheck
from reflect_lab.evidence.model_class import PydanticCheck
from reflect_lab.evidence.python import PythonCheck, PythonSyntaxCheck
from reflect_lab.evidence.reference import ReferenceCheck
from reflect_lab.evidence.ruff import RuffCheck
from reflect_lab.evidence.rules import RulesCheck
from reflect_lab.evidence.schema import SchemaCheck
from reflect_lab.evidence.sql import SqlCheck, SqlSyntaxCheck
from reflect_lab.evidence.text import TextCheck

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
