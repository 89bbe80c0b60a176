"""What level W's interpreter answers is what Python answers, on a list of expressions (`interpreter_snippets.txt`).

`subset.py` was made against one release; another one is tried by this first.
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pydantic_monty
import pytest

SNIPPETS = Path(__file__).with_name("interpreter_snippets.txt").read_text(encoding="utf-8").splitlines()


@pytest.fixture(scope="module")
def pool() -> Iterator[Any]:
    with pydantic_monty.Monty(request_timeout=10) as opened:
        yield opened


def in_python(snippet: str) -> tuple[str, object]:
    """The value of `r`, else of the last expression; or the exception's class."""
    body = ast.parse(snippet).body
    names: dict[str, object] = {}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            last = body.pop() if isinstance(body[-1], ast.Expr) else ast.Expr(ast.Name("r", ast.Load()))
            exec(compile(ast.fix_missing_locations(ast.Module(body, [])), "<snippet>", "exec"), names)
            return "gave", eval(
                compile(ast.fix_missing_locations(ast.Expression(last.value)), "<snippet>", "eval"), names
            )
    except Exception as error:
        return "raised", type(error)


def in_the_interpreter(snippet: str, pool: Any) -> tuple[str, object]:
    text = snippet if isinstance(ast.parse(snippet).body[-1], ast.Expr) else f"{snippet}\nr"
    with pool.checkout(limits={"max_feed_duration_secs": 5, "max_memory": 64 << 20}) as session:
        try:
            return "gave", session.feed_run(text)
        except pydantic_monty.MontyRuntimeError as error:
            return "raised", type(error.exception())


def test_there_are_many_snippets() -> None:
    assert len(SNIPPETS) > 150


@pytest.mark.parametrize("snippet", SNIPPETS)
def test_it_answers_what_python_answers(snippet: str, pool: Any) -> None:
    how, value = in_python(snippet)
    answered, its = in_the_interpreter(snippet, pool)
    assert answered == how, its
    assert its == value or repr(its) == repr(value)
    assert how == "raised" or isinstance(value, type) or type(its) in (type(value), *type(value).__mro__)
