"""What runs inside the cage on text alone: compiling, searching for patterns, linting, applying JSON schemas.

A script of its own with the protocol of `runner.py`: it imports nothing of this package, and nothing of a draft runs.
"""

from __future__ import annotations

import json
import math
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterable
from itertools import islice
from typing import Any

_SHOWN = 200
_MOST = 50
_FIX = 900_000
"""Bytes of a fix that fit into an answer, of which `cage` takes 1 MiB. A longer one is left out."""

_UNSEEN = "\u034f\u115f\u1160\u2800\u3164\uffa0\ufe0e\ufe0f"
"""Invisible, though Unicode calls them letters, marks or signs."""

Send = Callable[..., None]
Job = dict[str, Any]


def syntax(job: Job, send: Send) -> None:
    """Compiles the draft; nothing of it is executed."""
    try:
        compile(str(job["draft"]), "<draft>", "exec", dont_inherit=True)
    except SyntaxError as error:
        send(problem=str(error.msg), line=error.lineno)
    except (ValueError, RecursionError, MemoryError, OverflowError) as error:
        send(problem=f"{type(error).__name__}: {error}"[:_SHOWN], line=None)
    else:
        send(problem=None, line=None)


def search(job: Job, send: Send) -> None:
    """Searches a text for patterns; answers one by one, so that a slow one is known. Those from `plain_from` on are
    searched in the text as it looks, too: other spellings of the same letters, with nothing invisible in them."""
    import re

    text, patterns = str(job["text"]), list[str](job["patterns"])
    plain = text if text.isascii() or "plain_from" not in job else as_it_looks(text)
    for number, pattern in enumerate(patterns):
        match, place = re.search(pattern, text), text
        if match is None and plain != text and number >= int(job["plain_from"]):
            match, place = re.search(pattern, plain), plain
        line = place.count("\n", 0, match.start()) + 1 if match else None
        send(pattern=number, span=list(match.span()) if match else None, line=line)


def as_it_looks(text: str) -> str:
    """Full-width and other compatible letters as plain ones (NFKC), without zero-width and other format characters."""
    import unicodedata

    seen = "".join(c for c in text if unicodedata.category(c) != "Cf" and c not in _UNSEEN)
    # Each by itself: normalising long runs of marks together takes quadratic time.
    return "".join(unicodedata.normalize("NFKC", c) for c in seen)


def schema(job: Job, send: Send) -> None:
    """Checks a JSON schema itself, or a text against it. Nothing is ever fetched: the registry is empty."""
    # Optional format helpers of jsonschema; one of them builds a grammar at import, which takes seconds.
    sys.modules["rfc3987_syntax"] = None  # type: ignore[assignment]
    from jsonschema.exceptions import SchemaError
    from jsonschema.validators import Draft202012Validator, validator_for
    from referencing import Registry
    from referencing.exceptions import Unresolvable

    rules = job["schema"]
    kind = validator_for(rules, default=Draft202012Validator)
    try:
        kind.check_schema(rules)
    except SchemaError as error:
        path = "".join(f"/{part}" for part in error.path)
        send(schema=f"{error.message[:_SHOWN]} (at {path or '/'})")
        return
    if "text" not in job:
        return
    try:
        instance = json.loads(
            str(job["text"]), parse_constant=_refuse_constant, parse_float=_finite, object_pairs_hook=pairs
        )
        twice = keys_twice(instance)
        for place in twice[:_MOST]:
            send(path=_short(place), rule="twice", said="the key stands there twice")
        if twice:
            return  # it has two readings, and a schema can only be applied to one
        registry: Registry[Any] = Registry()
        for found in islice(kind(rules, registry=registry).iter_errors(instance), _MOST):
            send(path=_short(found.absolute_path), rule=str(found.validator), said=found.message[:_SHOWN])
    except json.JSONDecodeError as error:
        send(unreadable="a trailing comma" if _is_trailing_comma(error) else error.msg, line=error.lineno)
    except (ValueError, RecursionError) as error:
        send(unreadable=f"{type(error).__name__}: {error}"[:_SHOWN], line=None)
    except Unresolvable as error:
        send(unresolved=str(error.ref)[:_SHOWN])


def _short(path: Iterable[str | int]) -> list[str | int]:
    """A path that fits into an answer, however long the keys of the draft are."""
    return [part if isinstance(part, int) else str(part)[:_SHOWN] for part in path]


class _Ambiguous(dict[str, Any]):
    """An object in which keys stand twice."""

    twice: tuple[str, ...] = ()


def pairs(found: list[tuple[str, Any]]) -> dict[str, Any]:
    """The object of a JSON text (`object_pairs_hook`), which remembers keys that stand twice."""
    plain = dict(found)
    if len(plain) == len(found):
        return plain
    counts = Counter(key for key, _ in found)
    ambiguous = _Ambiguous(plain)
    ambiguous.twice = tuple(key for key, times in counts.items() if times > 1)
    return ambiguous


def keys_twice(value: Any) -> list[list[str | int]]:
    """The paths of all keys that stand twice in their object, of a value that was read with `pairs`."""
    found: list[list[str | int]] = []
    todo: list[tuple[list[str | int], Any]] = [([], value)]
    while todo:
        path, part = todo.pop()
        if isinstance(part, _Ambiguous):
            found += ([*path, key] for key in part.twice)
        items = part.items() if isinstance(part, dict) else enumerate(part) if isinstance(part, list) else ()
        todo += [([*path, key], inner) for key, inner in items if isinstance(inner, dict | list)]
    return found


def _is_trailing_comma(error: json.JSONDecodeError) -> bool:
    before, after = error.doc[: error.pos].rstrip(), error.doc[error.pos :].lstrip()
    if after.startswith(","):  # newer readers point at the comma itself
        before, after = f"{before},", after[1:].lstrip()
    return before.endswith(",") and after[:1] in ("]", "}")


def _refuse_constant(name: str) -> object:
    raise ValueError(f"{name} is no JSON number")


def _finite(text: str) -> float:
    if math.isinf(number := float(text)):
        raise ValueError(f"the number {text[:_SHOWN]} is too large")
    return number


def ruff(job: Job, send: Send) -> None:
    """Lints a text; offers it with the safe fixes made, if nothing is left to find in it then."""
    import subprocess

    environment = {**os.environ, "RAYON_NUM_THREADS": "1"}

    def run(*arguments: str) -> subprocess.CompletedProcess[bytes]:
        command = [job["program"], *arguments]
        return subprocess.run(command, input=text, capture_output=True, env=environment, check=False)

    text = str(job["text"]).encode("utf-8", "surrogatepass")
    # The draft is what is judged: what its own comments excuse counts, too, and no file configures anything.
    check = ["check", "--isolated", "--no-cache", "--ignore-noqa", "--stdin-filename", "draft.py", *job["rules"]]
    linted = run(*check, "--output-format", "json", "-")
    if linted.returncode not in (0, 1):
        send(problem=linted.stderr.decode("utf-8", "replace")[:_SHOWN])
        return
    found = json.loads(linted.stdout)
    fixed = run(*check, "--fix", "--quiet", "-") if any(one["fix"] for one in found) else None
    mended = fixed.stdout.decode() if fixed is not None and fixed.returncode == 0 else None
    send(
        findings=[
            {"code": one["code"], "line": one["location"]["row"], "message": one["message"][:_SHOWN]}
            for one in found[:_MOST]
        ],
        total=len(found),
        version=run("--version").stdout.decode().strip(),
        fix=mended if mended is not None and len(json.dumps(mended)) <= _FIX else None,
    )


def main() -> None:
    """Reads the job, performs it, and says that it is done."""
    descriptor = int(sys.argv[1])
    job: Job = json.loads(sys.stdin.buffer.read())
    nonce = job.pop("nonce")

    def send(**answer: object) -> None:
        line = memoryview(json.dumps({"nonce": nonce, **answer}).encode() + b"\n")
        while line:
            line = line[os.write(descriptor, line) :]

    {"syntax": syntax, "search": search, "schema": schema, "ruff": ruff}[str(job["mode"])](job, send)
    send(done=True)


if __name__ == "__main__":
    main()
