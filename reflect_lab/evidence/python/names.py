"""What a program's text tells of its global names: which it binds anew, and which its functions read or write later."""

from __future__ import annotations

import ast
import re
import symtable
import warnings
from dataclasses import dataclass

_LONGEST = 200_000
"""Characters that are looked through; of a longer text, every word counts as bound and as used."""
_TELLING = {
    "math": ("isclose", "isnan", "isinf", "sqrt", "pi", "e", "tau", "inf", "nan"),
    "pytest": ("approx", "raises"),
}
"""What an import of these gives is what their names mean here, too."""
_HARMLESS = frozenset(
    {"bisect", "collections", "copy", "dataclasses", "datetime", "decimal", "fractions", "functools", "heapq"}
    | {"itertools", "json", "math", "random", "re", "statistics", "string", "typing"}
)
"""Modules of which `import *` binds no built-in's name."""
EVERY = "*"
"""Stands among the bound names where any name may be bound: an `import *` of a module that is not known here."""


@dataclass(frozen=True, kw_only=True)
class Names:
    """`bound`: names that the program gives another meaning than the built-in, `math`'s or `pytest`'s of that name.
    `used`: global names that its functions read or write when they are called."""

    bound: frozenset[str] = frozenset()
    used: frozenset[str] = frozenset()

    def __or__(self, other: Names) -> Names:
        return Names(bound=self.bound | other.bound, used=self.used | other.used)

    def binds(self, name: str) -> bool:
        return name in self.bound or EVERY in self.bound


NOTHING = Names()


def names_of(text: str) -> Names:
    """The names of a program, read from its text: what it binds through `exec`, `globals()` or frames is not seen."""
    if len(text) > _LONGEST:
        return _every_word(text)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree, table = ast.parse(text), symtable.symtable(text, "<names>", "exec")
    except (SyntaxError, ValueError):  # it will not run at all
        return Names()
    except (RecursionError, MemoryError):
        return _every_word(text)
    bound, used = _imported(tree), set()
    tables = [table]
    while tables:
        one = tables.pop()
        tables += one.get_children()
        for symbol in one.get_symbols():
            is_of_module = one.get_type() == "module"
            if symbol.is_assigned() and (is_of_module or symbol.is_declared_global()):
                bound.add(symbol.get_name())
            if one.get_type() == "function" and symbol.is_global():
                used.add(symbol.get_name())
    return Names(bound=frozenset(bound), used=frozenset(used))


def _every_word(text: str) -> Names:
    words = frozenset(re.findall(r"\w+", text))
    return Names(bound=words, used=words)


def _imported(tree: ast.AST) -> set[str]:
    """Names that imports bind, but for those whose meaning is known here."""
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {
                alias.asname or alias.name.partition(".")[0]
                for alias in node.names
                if alias.name not in _TELLING or alias.asname not in (None, alias.name)
            }
        elif isinstance(node, ast.ImportFrom):
            known = _TELLING.get(node.module or "", ())
            for alias in node.names:
                if alias.name == "*" and node.module not in _HARMLESS:
                    names.add(EVERY)
                elif alias.name != "*" and (alias.name not in known or alias.asname not in (None, alias.name)):
                    names.add(alias.asname or alias.name)
    return names
