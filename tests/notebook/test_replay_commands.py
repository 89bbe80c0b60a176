"""`%reflect replay` and `%reflect fork`: a record under another policy, and a run that goes on from a round."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from reflect_lab.core.errors import WrongUse
from reflect_lab.core.run import Run
from reflect_lab.notebook.replay_commands import ForkWords, replayed
from reflect_lab.options import RunOptions
from reflect_lab.session import Session
from tests.end_to_end.processes import critique
from tests.notebook.conftest import Lab
from tests.openai_server import Reply

CELL = "Write a note.\n- [ ] it names the day\n- [ ] it names the hour\n"
DAY = {"id": "day", "severity": "blocking", "requirement": "R1", "evidence": "it names the day"}
HOUR = {"id": "hour", "severity": "blocking", "requirement": "R2", "evidence": "it names the hour"}


async def recorded(folder: Path) -> tuple[Session, Run]:
    """A session whose traces hold one accepted run of two revisions."""
    said = [([DAY, HOUR], 0.2), ([HOUR], 0.5), ([], 0.9)]
    lines = [{"role": "generator", "text": text} for text in ("Come.", "Come on Monday.", "Come on Monday at nine.")]
    lines += [{"role": "critic", "json": {"issues": issues, "score": score}} for issues, score in said]
    (folder / "s.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    session = Session(traces=folder / "traces", environ={"HOME": str(folder)}, cwd=folder)
    return session, await session.reflect(CELL, RunOptions(model="scripted:s.jsonl"))


async def test_a_replay_stands_beside_the_record_round_by_round(tmp_path: Path) -> None:
    session, run = await recorded(tmp_path)
    lines = replayed(session, ["last", "--max-revisions", "1"]).splitlines()
    assert run.run_id in lines[0] and "at zero calls" in lines[0]
    assert lines[2].count("revise: 2 blocking issues stand") == 2
    assert lines[3].endswith("stop: no revision is left: the policy allows 1")
    assert lines[4].endswith("-"), "a round that would not have been is no round of the replay"
    assert lines[5].split("  ")[-1] == "escalated (revisions), returns draft 1"
    assert len(session.open_traces().runs().rows) == 1, "a replay is no run"
    await session.close()


async def test_where_the_record_ends_the_replay_is_unknown_and_says_why(tmp_path: Path) -> None:
    session, _ = await recorded(tmp_path)
    (tmp_path / "fewer.yaml").write_text("rules: {max_issues: 1}\n")
    text = replayed(session, ["last", "--policy", "fewer.yaml"])
    assert "unknown" in text.splitlines()[-2]
    assert text.splitlines()[-1] == "Unknown, because draft 1 was written on other feedback: the record ends there."
    await session.close()


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ([], "the following arguments are required: RUN"),
        (["last", "--polcy", "x"], "did you mean --policy?"),
        (["last", "--policy", "standart"], "did you mean 'standard'?"),
    ],
)
async def test_a_wrong_word_is_named(tmp_path: Path, words: list[str], problem: str) -> None:
    session, _ = await recorded(tmp_path)
    with pytest.raises(WrongUse) as raised:
        replayed(session, words)
    assert problem in str(raised.value)
    with pytest.raises(WrongUse, match="--at"):
        ForkWords.read(session, ["last"])
    await session.close()


@pytest.mark.parametrize("name", ["not-a-name", "class"])
async def test_a_fork_is_not_begun_for_a_variable_that_can_t_be(tmp_path: Path, name: str) -> None:
    session, _ = await recorded(tmp_path)
    with pytest.raises(WrongUse, match=f"--out {name}: this is no name of a variable"):
        ForkWords.read(session, ["last", "--at", "0", "--out", name])
    await session.close()


def test_a_fork_goes_on_in_a_kernel_with_another_critic(lab: Lab) -> None:
    blue = "The sea is wide and blue."
    lab.server.add(Reply(blue), Reply(critique()))
    lab.kernel.good("%%reflect --out first\nDescribe the sea.\n- [ ] it names a colour\n")
    lab.server.add(Reply(critique()))
    cell = lab.kernel.good("%reflect fork last --at 0 --critic checklist --out second")
    assert len(cell.shown) == 1 and cell.document["parent_run"] and cell.document["forked_at"] == 0
    lab.kernel.good("assert second.parent_run == first.run_id and second.usage.calls == 1")
    lab.kernel.good("assert second.prompts['critic'].name == 'checklist'")
    wrong = lab.kernel.start("%reflect fork last --at 7").finish()
    assert wrong.status == "error" and "its rounds are 0..0" in str(wrong.messages)
