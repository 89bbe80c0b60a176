"""Reads a draft as YAML (or JSON) and applies rules to it, in a process that can be ended (`cage.run`).

The reader is PyYAML's safe one, stricter: no aliases (a few stand for gigabytes), no tags, no key twice, a bounded
depth. The job: `{text, required, texts, kinds, rules}`; the answers: `{problem, line}` where it can't be read, else one
`{document, …}` or `{rule, …}` for each violation. It imports nothing of the package, so that it starts anywhere.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

MAX_DEPTH = 60
MAX_DOCUMENTS = 200
MAX_ANSWERS = 50
"""Violations that are told of each rule at most, and of all rules together; but each broken rule is told."""
_PLACE = 200
_STEP = re.compile(r"""\.?([A-Za-z_][\w-]*)|\[(\*|-?[0-9]+)\]|\["([^"\]]*)"\]""")
_QUANTITY = re.compile(
    r"([+-]?[0-9]+(?:\.[0-9]*)?|[+-]?\.[0-9]+)(Ki|Mi|Gi|Ti|Pi|Ei|n|u|m|k|M|G|T|P|E|[eE][+-]?[0-9]+)?"
)
_SUFFIXES = {
    "n": (1, 10**9), "u": (1, 10**6), "m": (1, 1000), "k": (10**3, 1), "M": (10**6, 1), "G": (10**9, 1),
    "T": (10**12, 1), "P": (10**15, 1), "E": (10**18, 1), "Ki": (2**10, 1), "Mi": (2**20, 1), "Gi": (2**30, 1),
    "Ti": (2**40, 1), "Pi": (2**50, 1), "Ei": (2**60, 1),
}  # fmt: skip


class Unreadable(Exception):
    """Why a text is no YAML that is read here; `line` counts from 1."""

    def __init__(self, problem: str, line: int | None) -> None:
        super().__init__(problem)
        self.line = line


class Written(float):
    """A number with a point as it is written: a float alone would round `1.00000000000000001` to 1."""

    def __new__(cls, text: str) -> Written:
        number = super().__new__(cls, text)
        number.text = text  # type: ignore[attr-defined]
        return number

    def __str__(self) -> str:
        return str(self.text)  # type: ignore[attr-defined]


def read(text: str) -> list[Any]:
    """The documents of a YAML text as plain values. Raises Unreadable."""
    import yaml

    if text.lstrip()[:1] in ("{", "["):  # JSON may be indented by tabs, which YAML can't
        try:
            return [json.loads(text, object_pairs_hook=_unique_pairs, parse_float=Written)]
        except (ValueError, RecursionError):
            pass  # YAML's flow style looks the same
    safe = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        _refuse(text, safe)
        loader: Any = type("Loader", (safe,), {"construct_mapping": _unique, "yaml_implicit_resolvers": _plain()})
        loader.add_constructor("tag:yaml.org,2002:map", loader.construct_mapping)
        loader.add_constructor("tag:yaml.org,2002:float", _written)
        for sign in ("value", "merge"):  # `=` and `<<` as values are text
            loader.add_constructor(f"tag:yaml.org,2002:{sign}", loader.construct_scalar)
        found = []
        for document in yaml.load_all(text, Loader=loader):
            found.append(document)
            if len(found) > MAX_DOCUMENTS:
                raise Unreadable(f"there are more than {MAX_DOCUMENTS} documents", None)
        return found
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        problem = _a_tab(text, mark) or str(error.problem or error.context)
        raise Unreadable(problem, mark.line + 1 if mark else None) from None
    except yaml.YAMLError as error:
        raise Unreadable(" ".join(str(error).split())[:200], None) from None
    except (ValueError, RecursionError, OverflowError) as error:
        raise Unreadable(f"{type(error).__name__}: {error}", None) from None


def _a_tab(text: str, mark: Any) -> str | None:
    """What is wrong at a place where a tab stands, which its reader only calls a character."""
    lines = text.splitlines()
    is_tab = mark is not None and mark.line < len(lines) and lines[mark.line][mark.column :][:1] == "\t"
    return "a tab, where YAML allows only spaces" if is_tab else None


def _plain() -> dict[str, Any]:
    """Without dates: `2024-05-01` stays text, as JSON has it."""
    import yaml

    timestamp = "tag:yaml.org,2002:timestamp"
    resolvers = yaml.SafeLoader.yaml_implicit_resolvers
    return {first: [(tag, how) for tag, how in each if tag != timestamp] for first, each in resolvers.items()}


def _written(loader: Any, node: Any) -> float:
    text = str(loader.construct_scalar(node))
    return (
        Written(text) if re.fullmatch(r"[-+]?[0-9.]+(?:[eE][-+]?[0-9]+)?", text) else loader.construct_yaml_float(node)
    )


def _unique(loader: Any, node: Any, deep: bool = True) -> dict[Any, Any]:
    import yaml

    seen = {}
    for key, value in node.value:
        if not isinstance(key, yaml.ScalarNode):
            raise Unreadable("a key is no word", key.start_mark.line + 1)
        if key.tag == "tag:yaml.org,2002:merge":
            raise Unreadable("the merge key << is not read here", key.start_mark.line + 1)
        name = loader.construct_object(key)
        if name in seen:
            raise Unreadable(f"the key {str(name)[:80]} stands there twice", key.start_mark.line + 1)
        seen[name] = loader.construct_object(value, deep=True)
    return seen


def _unique_pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        twice = next(key for at, (key, _) in enumerate(pairs) if key in dict(pairs[:at]))
        raise Unreadable(f"the key {twice[:80]} stands there twice", None)
    return found


def _refuse(text: str, safe: Any) -> None:
    import yaml

    depth = 0
    event: Any
    for event in yaml.parse(text, Loader=safe):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        line = event.start_mark.line + 1 if event.start_mark else None
        if depth > MAX_DEPTH:
            raise Unreadable("it is nested too deeply", line)
        if isinstance(event, yaml.AliasEvent):
            raise Unreadable("aliases (*name) are not read here; write the value again", line)
        if getattr(event, "tag", None) is not None:
            raise Unreadable(f"tags ({str(event.tag)[:40]}) are not read here", line)


Step = str | int | None
"""A key, an index, or None for every item."""


def steps(path: str) -> list[Step]:
    """`spec.containers[*].image` as steps. Raises ValueError for what is no path."""
    rest, found = path.removeprefix("$"), list[Step]()
    while rest:
        match = _STEP.match(rest)
        if match is None:
            raise ValueError(f"{rest!r} can't be read")
        key, index, quoted = match.groups()
        found.append(key if key is not None else quoted if quoted is not None else None if index == "*" else int(index))
        rest = rest[match.end() :]
    if not found:
        raise ValueError("it is empty")
    return found


def matches(value: Any, path: list[Step], at: str = "$") -> Iterator[tuple[str, Any]]:
    """The values that a path leads to, each with its own path. What is not there is left out."""
    if not path:
        yield at, value
        return
    step, rest = path[0], path[1:]
    if step is None:
        items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
        for key, item in items:
            yield from matches(item, rest, joined(at, key))
    elif isinstance(step, int):
        if isinstance(value, list) and -len(value) <= step < len(value):
            yield from matches(value[step], rest, joined(at, step % len(value)))
    elif isinstance(value, dict) and step in value:
        yield from matches(value[step], rest, joined(at, step))


def missing(value: Any, path: list[Step], at: str = "$") -> Iterator[str]:
    """The places where a path leads nowhere: for each item that there is, the first step that is not. What is null is
    not there."""
    if not path:
        if value is None:
            yield at
        return
    step, rest = path[0], path[1:]
    if step is None:
        items = list(value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ())
        if not items:
            yield f"{at}[*]"
        for key, item in items:
            yield from missing(item, rest, joined(at, key))
    elif isinstance(step, int):
        if isinstance(value, list) and -len(value) <= step < len(value):
            yield from missing(value[step], rest, joined(at, step % len(value)))
        else:
            yield joined(at, step)
    elif isinstance(value, dict) and step in value:
        yield from missing(value[step], rest, joined(at, step))
    else:
        yield joined(at, step)


def joined(at: str, key: object) -> str:
    if isinstance(key, int):
        return f"{at}[{key}]"
    name = str(key)
    return f"{at}.{name}" if name.isidentifier() else f"{at}[{json.dumps(name)}]"


def number(value: Any) -> Any:
    """A number, or a quantity as Kubernetes writes it (`500m`, `2Gi`, `1e3`), exactly; None for anything else."""
    from fractions import Fraction

    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    match = _QUANTITY.fullmatch(str(value))
    if match is None or len(match[1]) > 400:
        return None
    base, suffix = Fraction(match[1]), match[2] or ""
    if suffix in _SUFFIXES:
        up, down = _SUFFIXES[suffix]
        return base * up / down
    power = int(suffix[1:] or 0) if suffix else 0
    return base * Fraction(10) ** power if abs(power) <= 300 else None


def quantity(amount: Any, like: Any) -> str:
    """An exact amount in the unit of another quantity, or in the largest smaller one in which it is whole."""
    from fractions import Fraction

    match = _QUANTITY.fullmatch(str(like))
    suffix = (match[2] if match else None) or ""
    if suffix in _SUFFIXES:
        sizes = {unit: Fraction(up, down) for unit, (up, down) in {**_SUFFIXES, "": (1, 1)}.items()}
        family = [unit for unit in sizes if unit.endswith("i") == suffix.endswith("i")]
        for unit in sorted(family, key=lambda unit: -sizes[unit]):
            if sizes[unit] <= sizes[suffix] and (amount / sizes[unit]).denominator == 1:
                return f"{amount / sizes[unit]}{unit}"
    return str(int(amount) if amount == int(amount) or amount > 10**300 else float(amount))


def same(one: Any, other: Any) -> bool:
    """Equal as JSON has it: `true` is not 1. Two quantities are equal by value."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    left, right = number(one), number(other)
    return bool(left == right) if left is not None and right is not None else bool(one == other)


def _may_hold(value: Any, wanted: Any) -> bool:
    """Whether a list or mapping stands where one value is spoken of: it may hold what must not be there."""
    return isinstance(value, list | dict) and not isinstance(wanted, list | dict)


def _order(test: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    def kept(value: Any, limit: Any) -> bool:
        left, right = number(value), number(limit)
        return left is not None and right is not None and test(left, right)

    return kept


OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "equals": same,
    "not_equals": lambda value, wanted: not same(value, wanted) and not _may_hold(value, wanted),
    "at_most": _order(lambda value, limit: value <= limit),
    "at_least": _order(lambda value, limit: value >= limit),
    "less_than": _order(lambda value, limit: value < limit),
    "more_than": _order(lambda value, limit: value > limit),
    "in": lambda value, wanted: any(same(value, one) for one in wanted),
    "not_in": lambda value, wanted: not any(same(value, one) or _may_hold(value, one) for one in wanted),
    "matches": lambda value, pattern: isinstance(value, str) and re.search(pattern, value) is not None,
    "not_matches": lambda value, pattern: not _may_hold(value, pattern) and re.search(pattern, str(value)) is None,
}
"""What is asked of each value that a path leads to. `exists`, `absent` and `total_at_most` look at all of them."""


@dataclass(frozen=True)
class Part:
    """A document, or an item of a List, which stands for documents as they would stand alone. `kind` is its own, else
    the one that the List gives its items (`PodList`)."""

    root: str
    value: Any
    kind: Any
    is_list: bool = False
    is_item: bool = False


def parts(root: str, document: Any, given: Any = None, is_item: bool = False) -> Iterator[Part]:
    """A document and, where it is a List, all that it holds."""
    kind = document.get("kind", given) if isinstance(document, dict) else None
    items = document.get("items") if isinstance(kind, str) and kind.endswith("List") else None
    is_list = isinstance(items, list) and bool(items)
    yield Part(root, document, kind, is_list, is_item)
    for index, item in enumerate(items if is_list and items else ()):
        yield from parts(f"{root}.items[{index}]", item, str(kind).removesuffix("List") or None, True)


def violations(part: Part, rule: Mapping[str, Any]) -> Iterator[tuple[str, Any, bool]]:
    """Where a document breaks a rule: the path, the value there, and whether there is one at all."""
    if not _is_meant(part, rule):
        return
    path, operator = steps(rule["path"]), rule["operator"]
    found = list(matches(part.value, path, part.root))
    if operator == "absent":
        for at, value in found:
            yield at, value, True
        return
    wants_null = rule.get("value") is None or (operator in ("in", "not_in") and None in rule["value"])
    wants_null = wants_null and operator not in ("exists", "total_at_most")
    if not rule.get("optional") and _is_asked_to_hold(part, rule, path):
        for at in missing(part.value, path, part.root):
            if not wants_null or all(at != place for place, _ in found):
                yield at, None, False
    if operator in ("exists", "total_at_most"):
        return
    for at, value in found:
        if value is None and not wants_null:
            continue  # told as missing
        if not OPERATORS[operator](value, rule.get("value")):
            yield at, value, True


def _is_asked_to_hold(part: Part, rule: Mapping[str, Any], path: list[Step]) -> bool:
    """A List needs not hold what its items are asked for, and they need not hold what the List is asked for."""
    if rule.get("kind") is not None or path[0] == "items":
        return not part.is_item or rule.get("kind") is not None
    return not part.is_list


def total(documents: list[Part], rule: Mapping[str, Any]) -> tuple[Any, list[tuple[str, Any]]]:
    """The sum of what a rule's path leads to in all documents, each times what `times` leads to in its own (1 where
    that is not there), and the places that hold no quantity. One below 0 is none: it would make room for others."""
    amount, odd = 0, []
    for part in documents:
        if not _is_meant(part, rule):
            continue
        factor: Any = 1
        for at, value in matches(part.value, steps(rule["times"]), part.root) if rule.get("times") else ():
            factor = number(value)
            if factor is None or factor < 0:
                odd.append((at, value))
                factor = 1
        for at, value in matches(part.value, steps(rule["path"]), part.root):
            one = number(value)
            if one is None or one < 0:
                odd.append((at, value))
            else:
                amount += one * factor
    return amount, odd


def _is_meant(part: Part, rule: Mapping[str, Any]) -> bool:
    return rule.get("kind") is None or part.kind == rule["kind"]


def judge(job: Mapping[str, Any], send: Callable[..., None]) -> None:
    """Answers with what is wrong with a text."""
    try:
        documents = read(str(job["text"]))
    except Unreadable as problem:
        send(problem=str(problem)[:300], line=problem.line)
        return
    documents = [document for document in documents if document is not None]
    if not documents:
        send(problem="it holds nothing", line=None)
        return
    roots = ["$" if len(documents) == 1 else f"$[{index}]" for index in range(len(documents))]
    found = [part for root, document in zip(roots, documents, strict=True) for part in parts(root, document)]
    for answer in (*islice(_unfit(found, job), MAX_ANSWERS), *_broken(found, job.get("rules", ()))):
        send(**{**answer, "at": None if answer["at"] is None else answer["at"][:_PLACE]})


def _unfit(documents: list[Part], job: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """What the documents must hold and do not. A List stands for what it holds."""
    required, texts, kinds = job.get("required", ()), job.get("texts", ()), job.get("kinds")
    for part in documents:
        if part.is_list or not (required or texts or kinds):
            continue
        if not isinstance(part.value, dict):
            yield {"missing": None, "at": part.root}
            continue
        for path in (*texts, *required):
            for at in missing(part.value, steps(path), part.root):
                yield {"missing": path, "at": at}
        for path in texts:
            for at, value in matches(part.value, steps(path), part.root):
                if value is not None and not (isinstance(value, str) and value.strip()):
                    yield {"no_text": path, "at": at}
        if kinds and part.value.get("kind") not in kinds:
            yield {"kind": shown(part.value.get("kind")), "at": f"{part.root}.kind"}


def _broken(documents: list[Part], rules: list[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """The violations in the order of the rules. Every rule is judged, and each that is broken is told, whatever the
    others found: those that found much are told in part."""
    found = [list(islice(_of_rule(documents, position, rule), MAX_ANSWERS)) for position, rule in enumerate(rules)]
    share, told = 1, sum(map(bool, found))
    while told < MAX_ANSWERS and (more := sum(len(each) > share for each in found)):
        share, told = share + 1, told + more
    for each in found:
        yield from each[:share]


def _of_rule(documents: list[Part], position: int, rule: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for part in documents:
        for at, value, is_there in violations(part, rule):
            yield {"rule": position, "at": at, "value": shown(value), "is_there": is_there}
    if rule["operator"] == "total_at_most":
        amount, odd = total(documents, rule)
        if amount > number(rule["value"]):
            yield {"rule": position, "at": None, "value": quantity(amount, rule["value"])[:80], "is_there": True}
        for at, value in odd:
            yield {"rule": position, "at": at, "value": shown(value), "is_there": True}


def shown(value: Any) -> str:
    if isinstance(value, str | Written):
        return str(value)[:80]
    try:
        return json.dumps(value)[:80]
    except (TypeError, ValueError):
        return str(value)[:80]


def main() -> None:
    """The job comes on standard input; the answers go, marked, to the descriptor that the command line names."""
    job, descriptor = json.loads(sys.stdin.buffer.read()), int(sys.argv[1])
    nonce = job.pop("nonce")

    def send(**answer: object) -> None:
        line = memoryview(json.dumps({"nonce": nonce, **answer}).encode() + b"\n")
        while line:
            line = line[os.write(descriptor, line) :]

    judge(job, send)
    send(done=True)


if __name__ == "__main__":
    main()
