"""The `yaml` gate: a manifest parses safely and holds what it must. What it shares with `rules` stands here too."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from reflect_lab.core.evidence import Finding, Location, Rank
from reflect_lab.core.run import Draft
from reflect_lab.core.task import CheckSpec
from reflect_lab.documents.suggest import did_you_mean
from reflect_lab.documents.suggest import shown as shown_option
from reflect_lab.evidence.check import Options, Report, Surroundings, one_requirement
from reflect_lab.evidence.kinds import manifest_program
from reflect_lab.evidence.kinds.json_mend import unwrapped
from reflect_lab.evidence.sandbox import strongest
from reflect_lab.evidence.sandbox.caged import Caged
from reflect_lab.evidence.sandbox.limits import Limits
from reflect_lab.evidence.wording import counted, report, shown

_LIMITS = Limits(wall_s=10.0, cpu_s=10)
_MOST = 50
_INDENT = re.compile(r"^[ \t]+(?=\S)", re.MULTILINE)

LIKE: Mapping[str, tuple[str, ...]] = {"kubernetes": ("apiVersion", "kind", "metadata.name")}
"""Kinds of manifests by name: the paths that lead to a text in each of their documents."""


class YamlCheck:
    """The draft is YAML that a safe reader takes (no tags, no aliases, no key twice), and its documents hold what they
    must. A gate. Options: `required` (paths), `kinds` (allowed values of `kind`), `like: kubernetes` (requires
    `apiVersion`, `kind` and `metadata.name`). JSON is YAML, too.

    >>> draft = "kind: Deployment\\nmetadata: {name: web}\\nkind: Pod\\n"
    >>> print(look("yaml", draft, {"like": "kubernetes"}).summary)
    failed
    - failed parse: not YAML: the key kind stands there twice (line 3)
    >>> print(look("yaml", "kind: Job\\nmetadata: {}\\n", {"like": "kubernetes", "kinds": ["Deployment"]}).summary)
    failed
    - failed $.apiVersion:required: $.apiVersion is missing (path $.apiVersion)
    - failed $.metadata.name:required: $.metadata.name is missing (path $.metadata.name)
    - failed $.kind:kind: the kind Job is none of Deployment (path $.kind)

    A code fence or a byte order mark around the manifest, and tabs where all of its indentation is made of tabs, are
    mended as a `fix`, where that is all that is wrong.

    >>> look("yaml", "kind: Job\\nmetadata:\\n\\tname: web\\n").evidence.fix
    'kind: Job\\nmetadata:\\n  name: web\\n'
    """

    rank: Rank = "deterministic"
    is_gate = True
    language = "yaml"

    def __init__(self, spec: CheckSpec, surroundings: Surroundings) -> None:
        options = Options(spec, ("required", "kinds", "like"))
        like = options.text("like", "")
        if like and like not in LIKE:
            raise options.wrong(f"like {shown_option(like)}; {did_you_mean(like, LIKE)}")
        self._texts, self._required = list(LIKE.get(like, ())), options.texts("required")
        self._kinds = options.texts("kinds")
        for path in self._required:
            check_path(path, "required", options)
        self._job = {"required": list(self._required), "texts": self._texts, "kinds": list(self._kinds)}
        self._requirement = one_requirement(spec)

    async def run(self, draft: Draft) -> Report:
        looked = await self._looked_at(draft.text)
        mended = mended_form(draft.text) if looked.status == "failed" else None
        if mended is None or (await self._looked_at(mended)).status != "passed":
            return looked
        return replace(looked, fix=mended)

    async def _looked_at(self, text: str) -> Report:
        caged = await judged({**self._job, "text": text})
        return replace(self._told(caged), sandbox=caged.sandbox(None), provenance=caged.provenance(text))

    def _told(self, caged: Caged) -> Report:
        fault = fault_of(caged)
        if fault is not None:
            return fault
        findings = unique(self._finding(answer) for answer in caged.answers if "done" not in answer)
        if not findings:
            return Report(status="passed", text="YAML that holds what it must")
        summary = f"{counted(len(findings), 'problem')} with the manifest"
        return Report(status="failed", text=report(summary, findings), findings=findings)

    def _finding(self, answer: Mapping[str, Any]) -> Finding:
        if "problem" in answer:
            return unreadable(answer, self._requirement)
        at = shown(str(answer["at"]), 120)
        if "kind" in answer:
            message = f"the kind {shown(answer['kind'], 80)} is none of {', '.join(self._kinds)}"
            name = f"{at}:kind"
        elif "no_text" in answer:
            message, name = f"{at} is no text, or an empty one", f"{at}:required"
        else:
            message = f"{at} is missing" if answer["missing"] else f"{at} is no mapping of keys"
            name = f"{at}:required"
        return Finding(
            id=name,
            status="failed",
            message=message,
            requirement=self._requirement,
            location=Location(kind="path", value=at),
        )


def check_path(path: str, where: str, options: Options) -> None:
    try:
        manifest_program.steps(path)
    except ValueError as error:
        example = "write it as spec.containers[*].image"
        raise options.wrong(f"{where}: {shown_option(path)} is no path ({error}); {example}") from None


async def judged(job: Mapping[str, object]) -> Caged:
    return await strongest.run(Path(manifest_program.__file__), job, _LIMITS)


def fault_of(caged: Caged) -> Report | None:
    """Why the answer says nothing about the draft, if so."""
    if caged.malformed or {"done": True} not in caged.answers:
        why = f"no answer within {_LIMITS.wall_s:g} s" if caged.end == "timeout" else caged.end
        return Report(status="error", text=f"the manifest could not be read ({why})")
    return None


def unreadable(answer: Mapping[str, Any], requirement: str | None) -> Finding:
    location = Location(kind="line", value=str(answer["line"])) if answer["line"] is not None else None
    message = f"not YAML: {shown(str(answer['problem']))}"
    return Finding(id="parse", status="failed", message=message, requirement=requirement, location=location)


def unique(findings: Iterable[Finding], most: int | None = _MOST) -> tuple[Finding, ...]:
    found: dict[str, Finding] = {}
    for finding in findings:
        found.setdefault(finding.id, finding)
    return tuple(found.values())[:most]


def mended_form(text: str) -> str | None:
    """The text without a byte order mark and one outer code fence, and with two spaces for each tab that indents it,
    where nothing else does (YAML allows no tabs there, and then they have one reading); None where there is nothing of
    that."""
    bare = unwrapped(text)
    indents = _INDENT.findall(bare)
    if indents and all(set(indent) == {"\t"} for indent in indents):
        bare = _INDENT.sub(lambda match: "  " * len(match[0]), bare)
    return f"{bare}\n" if bare != text.strip() else None
