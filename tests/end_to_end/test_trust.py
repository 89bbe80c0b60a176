"""What the controller can be trusted with, seen from outside: calls counted at the server, documents compared."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import reflect_lab as rl
from reflect_lab.core.run import Round, Run
from reflect_lab.options import RunOptions
from reflect_lab.session import Session
from tests.core.strategies import INJECTION
from tests.end_to_end.processes import Ended, critique, environment, run
from tests.openai_server import OpenAITestServer, Recorded, Reply

CHECKED = """\
---
checks:
  - text: {must: [blue], requirements: [R1]}
---
Describe the sea in one sentence.
- [ ] it names a colour
"""
PLAIN = "Describe the sea in one sentence.\n- [ ] it names a colour\n"
NOT_RUN = """\
Write a Python function `double(n)`.
- [ ] 2 gives 4

```python check R1
assert double(2) == 4
```
"""
COLOUR = {"id": "colour", "severity": "blocking", "requirement": "R1", "evidence": "it names a colour"}


def asked(server: OpenAITestServer) -> list[Recorded]:
    return [request for request in server.requests if request.path.endswith("/chat/completions")]


def told(folder: Path, task: str, server: OpenAITestServer, *words: str) -> Ended:
    (folder / "task.md").write_text(task)
    env = environment(folder, OPENAI_BASE_URL=server.url, OPENAI_API_KEY="none")
    return run("run", "task.md", "--json", "--traces", "traces", *words, cwd=folder, env=env)


def test_an_invalid_critique_beside_a_failing_check_revises(tmp_path: Path) -> None:
    with OpenAITestServer() as server:
        server.add(Reply("The sea is wide."), Reply("no JSON"), Reply("The sea is blue."), Reply(critique()))
        document = told(tmp_path, CHECKED, server).document
        assert len(asked(server)) == 4, "no repair was requested where a failed check is there to revise on"
    first, second = document["rounds"]
    assert (first["critique"]["validity"], first["decision"]["action"]) == ("invalid", "revise")
    assert first["decision"]["reason"] == "failed_evidence" and first["feedback"]["sent"] == ["text/must:1"]
    assert second["decision"]["reason"] == document["outcome"]["stop_reason"] == "pass"


def test_an_invalid_critique_alone_is_asked_for_once_more_and_then_stops(tmp_path: Path) -> None:
    with OpenAITestServer() as server:
        server.add(Reply("The sea is wide."), Reply("no JSON"), Reply("still no JSON"))
        document = told(tmp_path, PLAIN, server).document
        assert len(asked(server)) == 3
    assert document["outcome"]["stop_reason"] == "invalid_critique"
    assert document["outcome"]["status"] == "escalated" and document["outcome"]["draft"] == "The sea is wide."
    assert document["rounds"][0]["critique"]["score"] is None


@pytest.mark.parametrize("answer", [critique(), "no JSON"], ids=["readable", "unreadable"])
def test_a_named_check_that_could_not_run_ends_unverified_without_a_further_model_call(
    tmp_path: Path, answer: str
) -> None:
    with OpenAITestServer() as server:
        server.add(Reply("```python\ndef double(n):\n    return 2 * n\n```"))
        server.add(Reply(answer), Reply("one call too many"))
        document = told(tmp_path, NOT_RUN, server, "--sandbox", "off").document
        assert len(asked(server)) == 2, "the draft and its critique; no repair, no revision"
    assert (document["outcome"]["stop_reason"], document["outcome"]["status"]) == ("unverified", "escalated")
    assert "python:1 (not run)" in document["outcome"]["message"]
    assert document["usage"]["calls"] == 2


def script(*lines: tuple[str, Any]) -> str:
    said = []
    for role, what in lines:
        if role == "check":
            said.append({"role": "check", "name": "look", **what})
        else:
            said.append({"role": role, "json" if isinstance(what, dict) else "text": what})
    return "".join(json.dumps(line) + "\n" for line in said)


LOOKED = "---\nchecks:\n  - look\n---\nWrite a release note.\n- [ ] names the menu where the button lives\n"
BLOCKED = {"issues": [{"id": "a", "severity": "blocking", "requirement": "R1", "evidence": ""}], "score": 0.4}
CLEAN: dict[str, Any] = {"issues": [], "score": 0.9}


def lines(attack: str) -> list[list[tuple[str, Any]]]:
    """Runs to several ends: revised until accepted, the same failure twice, stalled, a check that says no more."""

    def failed(text: str, **more: Any) -> dict[str, Any]:
        return {"status": "failed", "text": attack + text, **more}

    found = {"findings": [{"id": "menu", "status": "failed", "message": "no menu"}]}
    return [
        [("generator", f"{attack}one"), ("check", failed("no menu", **found)), ("critic", BLOCKED),
         ("generator", f"{attack}two"), ("check", {"status": "passed", "text": attack}), ("critic", CLEAN)],
        [("generator", f"{attack}one"), ("check", failed("no menu")), ("critic", CLEAN),
         ("generator", f"{attack}two"), ("check", failed("no menu")), ("critic", CLEAN)],
        [("generator", f"{attack}one"), ("check", {"status": "passed", "text": attack}), ("critic", BLOCKED),
         ("generator", f"{attack}one"), ("check", {"status": "passed", "text": attack}), ("critic", BLOCKED)],
        [("generator", f"{attack}one"), ("check", {"status": "not_run", "text": attack}), ("critic", CLEAN)],
        [("generator", f"{attack}one"), ("check", {"status": "denied", "text": attack})],
    ]  # fmt: skip


async def played(folder: Path, said: list[tuple[str, Any]]) -> Run:
    (folder / "script.jsonl").write_text(script(*said))
    async with Session(traces=folder / "traces", environ={}, cwd=folder) as session:
        return await session.reflect(LOOKED, RunOptions(model="scripted:script.jsonl"))


ENDS = ["pass", "repeated_failure", "no_change", "unverified", "denied"]


@pytest.mark.parametrize("which", range(len(ENDS)), ids=ENDS)
async def test_evidence_and_drafts_that_give_orders_leave_every_decision_byte_equal(which: int, tmp_path: Path) -> None:
    from reflect_lab.documents.run_document import dump_run

    documents = [dump_run(await played(tmp_path, lines(attack)[which])) for attack in ("", f"{INJECTION}\n")]
    decisions = []
    for document in documents:
        outcome = {key: value for key, value in document["outcome"].items() if key != "draft"}
        rounds = [[r["decision"], r["feedback"], r["shortage"]] for r in document["rounds"]]
        decisions.append(json.dumps([outcome, rounds]).encode())
    assert decisions[0] == decisions[1]
    assert documents[0]["outcome"]["stop_reason"] == ENDS[which]
    assert INJECTION in json.dumps(documents[1]["rounds"]), "the attack did reach the record"


async def test_a_critic_that_renames_its_ids_each_round_ends_as_one_that_does_not(tmp_path: Path) -> None:
    def runs_with(names: list[str]) -> list[tuple[str, Any]]:
        said: list[tuple[str, Any]] = []
        for n, name in enumerate(names):
            issue = {"id": name, "severity": "blocking", "requirement": "R1", "evidence": ""}
            said += [("generator", f"draft {n}"), ("check", {"status": "passed"}), ("critic", {"issues": [issue]})]
        return said

    same = await played(tmp_path, runs_with(["menu", "menu", "menu"]))
    renamed = await played(tmp_path, runs_with(["menu", "the-menu", "check the menu!"]))
    assert same.outcome and renamed.outcome
    assert (len(same.rounds), same.outcome.stop_reason) == (2, "repeated_failure")
    assert (len(renamed.rounds), renamed.outcome.stop_reason) == (2, "repeated_failure")
    assert [r.decision for r in same.rounds] == [r.decision for r in renamed.rounds]


def test_the_sync_wrapper_makes_the_run_that_the_async_call_makes(tmp_path: Path) -> None:
    (tmp_path / "script.jsonl").write_text(script(*lines("")[0]))
    options = {"model": f"scripted:{tmp_path / 'script.jsonl'}", "traces": tmp_path / "traces"}
    one = rl.reflect_sync(LOOKED, **options)
    other = asyncio.run(rl.reflect(LOOKED, **options))
    assert [without_clock(r) for r in one.rounds] == [without_clock(r) for r in other.rounds]
    assert one.outcome == other.outcome and one.outcome and one.outcome.stop_reason == "pass"


def test_the_options_of_a_run_may_be_given_as_one_object_with_single_ones_before_it(tmp_path: Path) -> None:
    (tmp_path / "script.jsonl").write_text(script(*lines("")[0]))
    options = rl.RunOptions(model=f"scripted:{tmp_path / 'script.jsonl'}", name="one", max_revisions=3)
    first = rl.reflect_sync(LOOKED, options, traces=tmp_path / "traces")
    second = asyncio.run(rl.reflect(LOOKED, options, traces=tmp_path / "traces", name="two"))
    assert [(run.name, run.policy.limits.revisions) for run in (first, second)] == [("one", 3), ("two", 3)]
    assert first.outcome == second.outcome
    with pytest.raises(rl.WrongUse, match=r"takes a task and RunOptions\(…\), not 'local'; write"):
        rl.reflect_sync(LOOKED, "local")  # type: ignore[arg-type]
    with pytest.raises(rl.WrongUse, match="has no option 'modle'; did you mean 'model'"):
        rl.reflect_sync(LOOKED, options, modle="x")


def without_clock(round_: Round) -> Round:
    """A round without the seconds that its calls and checks took, and when they began."""
    evidence = tuple(replace(e, seconds=0.0, began=None) for e in round_.evidence or ())
    return replace(round_, evidence=evidence, usage=replace(round_.usage, seconds=0.0))
