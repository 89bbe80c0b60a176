"""YAML mappings read strictly: plain JSON values only, each key once, errors that name the line.

PyYAML's safe loader does the reading. Aliases and explicit tags are refused (a few aliases can stand for gigabytes),
dates stay the text that was written, and infinite numbers are no values.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from reflect_lab.core.errors import WrongUse
from reflect_lab.documents.suggest import shown

if TYPE_CHECKING:
    from yaml import MappingNode, Node

_TIMESTAMP = "tag:yaml.org,2002:timestamp"
_LARGEST = 2**63 - 1
"""What every reader of a record can hold; Python itself refuses to write out far larger ones."""
_TEXT = "tag:yaml.org,2002:str"
_MAX_DEPTH = 50


@dataclass(frozen=True)
class Entry:
    """One value of a mapping with the line (from 1, of the whole document) where it stands.

    `items` holds a list's elements as they were written, with their lines, for lists whose elements are text: a
    number or a `word: text` pair is text there. None where the value is no such list.
    """

    value: object
    line: int
    items: tuple[tuple[str, int], ...] | None = None


def read_mapping(text: str, *, where: str, first_line: int = 1) -> dict[str, Entry] | None:
    """The mapping that a YAML text holds; None when it holds nothing. `first_line` is the text's first line's number.

    Raises WrongUse with one line that names `where` and the line.
    """
    import yaml

    try:
        _refuse_what_is_not_plain(text, where, first_line)
        loader = _loader()(text)
        root = loader.get_single_node()
        if root is None:
            return None
        if not isinstance(root, yaml.MappingNode):
            raise WrongUse(
                f"{where}, line {_line(root, first_line)}: expected `key: value` lines, found something else"
            )
        _check_keys(root, where, first_line)
        values = loader.construct_document(root)
    except yaml.YAMLError as error:
        raise WrongUse(_describe(error, where, first_line)) from None
    except (ValueError, RecursionError) as error:
        raise WrongUse(f"{where}: this YAML can't be read: {shown(str(error), 100)}") from None
    return _entries(root, values, where, first_line)


def _loader() -> type:
    import yaml

    class Loader(yaml.SafeLoader):
        """Safe, and without dates: `2024-05-01` stays text."""

    Loader.yaml_implicit_resolvers = {
        first: [(tag, pattern) for tag, pattern in resolvers if tag != _TIMESTAMP]
        for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }
    return Loader


def _refuse_what_is_not_plain(text: str, where: str, first_line: int) -> None:
    import yaml

    depth = 0
    for event in yaml.parse(text, Loader=yaml.SafeLoader):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        line = event.start_mark.line + first_line if event.start_mark else first_line
        if depth > _MAX_DEPTH:
            raise WrongUse(f"{where}, line {line}: this YAML is nested too deeply")
        if isinstance(event, yaml.AliasEvent):
            raise WrongUse(f"{where}, line {line}: YAML aliases (*name) are not allowed; write the value again")
        tag = getattr(event, "tag", None)
        if tag is not None:
            raise WrongUse(f"{where}, line {line}: YAML tags ({shown(tag)}) are not allowed")


def _check_keys(node: Node, where: str, first_line: int) -> None:
    """Each key of each mapping is text and stands there once (YAML's merge key `<<` is none)."""
    import yaml

    if isinstance(node, yaml.SequenceNode):
        for child in node.value:
            _check_keys(child, where, first_line)
    elif isinstance(node, yaml.MappingNode):
        seen: set[str] = set()
        for key, child in node.value:
            place = f"{where}, line {_line(key, first_line)}"
            if not isinstance(key, yaml.ScalarNode):
                raise WrongUse(f"{place}: a key must be a word, not a list or a mapping")
            if key.tag != _TEXT:
                raise WrongUse(f"{place}: a key must be a word, not {shown(key.value)}; quote it")
            if key.value in seen:
                raise WrongUse(f"{place}: {shown(key.value)} stands there twice")
            seen.add(key.value)
            _check_keys(child, where, first_line)


def _entries(root: MappingNode, values: dict[str, object], where: str, first_line: int) -> dict[str, Entry]:
    entries: dict[str, Entry] = {}
    for key_node, value_node in root.value:
        line = _line(key_node, first_line)
        value = values[key_node.value]
        _refuse_non_json(value, f"{where}, line {line}")
        entries[key_node.value] = Entry(value, line, _text_items(value_node, first_line))
    return entries


def _refuse_non_json(value: object, where: str) -> None:
    if isinstance(value, float) and not math.isfinite(value):
        raise WrongUse(f"{where}: {value} is no number that can be used here")
    if isinstance(value, int) and abs(value) > _LARGEST:
        raise WrongUse(f"{where}: a whole number is too large; at most {_LARGEST:,} can be used here")
    if isinstance(value, Mapping):
        for child in value.values():
            _refuse_non_json(child, where)
    elif isinstance(value, list):
        for child in value:
            _refuse_non_json(child, where)
    elif value is not None and not isinstance(value, str | int | float | bool):
        raise WrongUse(f"{where}: {shown(value)} is no plain value")


def _text_items(node: Node, first_line: int) -> tuple[tuple[str, int], ...] | None:
    import yaml

    if not isinstance(node, yaml.SequenceNode):
        return None
    items: list[tuple[str, int]] = []
    for child in node.value:
        text = _as_written(child)
        if text is None:
            return None
        items.append((text, _line(child, first_line)))
    return tuple(items)


def _as_written(node: Node) -> str | None:
    """A scalar as the user wrote it; `word: text`, which YAML takes for a mapping, is such a line too."""
    import yaml

    if isinstance(node, yaml.ScalarNode):
        return str(node.value)
    if isinstance(node, yaml.MappingNode) and not node.flow_style and len(node.value) == 1:
        key, value = node.value[0]
        if isinstance(key, yaml.ScalarNode) and isinstance(value, yaml.ScalarNode):
            return f"{key.value}: {value.value}"
    return None


def _line(node: Node, first_line: int) -> int:
    return int(node.start_mark.line) + first_line


def _describe(error: Exception, where: str, first_line: int) -> str:
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    problem = getattr(error, "problem", None) or getattr(error, "reason", None) or "it can't be read"
    place = where if mark is None else f"{where}, line {mark.line + first_line}"
    return f"{place}: not valid YAML: {' '.join(str(problem).split())}"
