"""The `pydantic` check, a gate: the draft is JSON that a model class of the user's takes."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from reflect_lab.core.evidence import Finding, Location, Rank
from reflect_lab.core.run import Draft
from reflect_lab.core.task import CheckSpec
from reflect_lab.evidence.check import Options, Report, Surroundings, one_requirement
from reflect_lab.evidence.kinds import json_mend
from reflect_lab.evidence.kinds.in_process import TRUSTED, in_thread
from reflect_lab.evidence.kinds.json_strict import endless_number
from reflect_lab.evidence.kinds.schema import json_path
from reflect_lab.evidence.sandbox.text_runner import keys_twice, pairs
from reflect_lab.evidence.wording import counted, report, shown

if TYPE_CHECKING:
    from pydantic import BaseModel

_MOST = 50


class PydanticCheck:
    """The draft is JSON that a pydantic model class takes. A gate. Options: `model` (the name of a class of the
    notebook, of one that was handed over, or a plug-in's), `strict` (nothing is coerced; default false), `timeout_s`.

    The class is the user's own: its validators run in this process, in a thread with a deadline, and the evidence says
    that it was trusted.

    >>> from pydantic import BaseModel, Field
    >>> class Invoice(BaseModel):
    ...     number: str = Field(pattern="^INV-")
    ...     total: float = Field(ge=0)
    >>> print(look(Invoice, '{"number": "55821", "total": -1}').summary)
    failed
    - failed $.number:string_pattern_mismatch: $.number: String should match pattern '^INV-' (path $.number)
    - failed $.total:greater_than_equal: $.total: Input should be greater than or equal to 0 (path $.total)
    >>> look("pydantic", '{"number": "INV-1", "total": 3,}', {"model": "Invoice"}, known=[Invoice]).evidence.fix
    '{"number": "INV-1", "total": 3}'
    """

    rank: Rank = "deterministic"
    is_gate = True
    language = "json"

    def __init__(self, spec: CheckSpec, surroundings: Surroundings) -> None:
        options = Options(spec, ("model", "strict", "timeout_s"))
        name = options.text("model")
        if name not in surroundings.objects:
            raise options.wrong(f"there is no model class {name} here")
        self._model = cast("type[BaseModel]", surroundings.objects[name])
        self._strict = options.flag("strict")
        self._timeout_s = options.seconds("timeout_s", 30.0)
        self._requirement = one_requirement(spec)

    async def run(self, draft: Draft) -> Report:
        looked = await self._looked_at(draft.text)
        mended = json_mend.mended(draft.text) if looked.status == "failed" else None
        if mended is not None and (await self._looked_at(mended)).status == "passed":
            looked = replace(looked, fix=mended)
        where = f"{self._model.__module__}.{self._model.__qualname__}"
        return replace(looked, provenance={"trust": TRUSTED, "model": where})

    async def _looked_at(self, text: str) -> Report:
        from pydantic import ValidationError

        problem = await asyncio.to_thread(endless_number, text)
        if problem is not None:
            findings = self._findings([{"loc": (), "type": "json_invalid", "msg": problem}])
            summary = f"{counted(1, 'problem')} with {self._model.__name__}"
            return Report(status="failed", text=report(summary, findings), findings=findings)
        try:
            async with asyncio.timeout(self._timeout_s) as deadline:
                twice, fault = await in_thread(lambda: self._validated(text))
        except TimeoutError:
            if not deadline.expired():
                raise
            return Report(status="error", text=f"the model class gave no answer within {self._timeout_s:g} s")
        if fault is None and twice:
            errors = [{"loc": path, "type": "twice", "msg": "the key stands there twice"} for path in twice]
            found = self._findings(errors)
            return Report(status="failed", text=report("it has two readings", found), findings=found)
        if fault is None:
            return Report(status="passed", text=f"JSON that {self._model.__name__} takes")
        if not isinstance(fault, ValidationError):
            said = f"{type(fault).__name__}: {shown(str(fault), 300)}"
            return Report(status="error", text=f"a validator of {self._model.__name__} raised {said}")
        wrong = cast("list[Mapping[str, Any]]", fault.errors(include_url=False, include_context=False))
        findings = self._findings(wrong)
        summary = f"{counted(len(wrong), 'problem')} with {self._model.__name__}"
        return Report(status="failed", text=report(summary, findings), findings=findings)

    def _validated(self, text: str) -> list[list[str | int]]:
        """Raises what the class raises. Answers with the keys that stand twice; the class saw the last of each."""
        self._model.model_validate_json(text, strict=self._strict or None)
        try:
            return keys_twice(json.loads(text, object_pairs_hook=pairs))
        except (ValueError, RecursionError):
            return []  # it reads what Python's reader does not

    def _findings(self, errors: Sequence[Mapping[str, Any]]) -> tuple[Finding, ...]:
        found: dict[str, Finding] = {}
        for error in errors[:_MOST]:
            path, kind = json_path(error["loc"]), str(error["type"])
            is_json = kind != "json_invalid"
            said = shown(str(error["msg"]))
            name = shown(f"{path}:{kind}" if is_json else "parse", 120)
            found.setdefault(
                name,
                Finding(
                    id=name,
                    status="failed",
                    message=f"{path}: {said}" if is_json else f"not JSON: {said}",
                    requirement=self._requirement,
                    location=Location(kind="path", value=path) if is_json else _line(said),
                ),
            )
        return tuple(found.values())


def _line(said: str) -> Location:
    """Where the text is no JSON, of the parser's words: they end in `at line 2 column 7`."""
    found = re.search(r"at line (\d+) column \d+$", said)
    return Location(kind="whole") if found is None else Location(kind="line", value=found[1])
