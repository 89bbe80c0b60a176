"""The ruff check."""

from __future__ import annotations

from pathlib import Path

import pytest

from reflect_lab.core.errors import WrongUse
from reflect_lab.core.evidence import Evidence
from reflect_lab.evidence.kinds import ruff
from tests.evidence.evidence_support import evidence_of


async def ruff_on(draft: str, **options: object) -> Evidence:
    return await evidence_of("ruff", options, draft)


async def test_problems_are_findings_with_their_lines_and_stable_ids() -> None:
    evidence = await ruff_on("import os\nimport sys\n\ndef f():\n    return nothing\n")
    assert (evidence.status, evidence.rank, evidence.fix) == ("failed", "deterministic", None)
    assert [(f.id, f.location.value if f.location else None) for f in evidence.findings] == [
        ("F401:1", "1"),
        ("F401:2", "2"),
        ("F821:1", "5"),
    ]
    assert evidence.findings[2].message == "F821 Undefined name `nothing`"
    assert evidence.text.startswith("ruff found 3 problems") and evidence.provenance["ruff"].startswith("ruff ")


async def test_a_clean_draft_passes() -> None:
    evidence = await ruff_on("def f(x):\n    return x\n")
    assert (evidence.status, evidence.findings, evidence.text) == ("passed", (), "ruff found nothing")


async def test_safe_fixes_are_offered_where_they_mend_all_of_it() -> None:
    mended = await ruff_on("import os\n\n\ndef f(x):\n    return x\n")
    assert mended.fix == "\n\ndef f(x):\n    return x\n"
    # An unused variable may have been meant for something: its fix is not safe.
    assert (await ruff_on("import os\n\n\ndef f(x):\n    y = x\n")).fix is None


async def test_advisory_findings_are_told_and_fail_nothing() -> None:
    evidence = await ruff_on("import os\n", level="advisory")
    assert (evidence.status, [f.status for f in evidence.findings], evidence.fix) == ("passed", ["advisory"], None)
    assert "F401" in evidence.text


async def test_rules_are_chosen_by_select_and_ignore(monkeypatch: pytest.MonkeyPatch) -> None:
    draft = "import os\nl = 1\n"
    assert [f.id for f in (await ruff_on(draft, select=["E7"])).findings] == ["E741:1"]
    assert [f.id for f in (await ruff_on(draft, ignore="F401")).findings] == ["E741:1"]
    monkeypatch.setattr(ruff, "_refused", lambda rules: None)  # as where it could not be asked beforehand
    evidence = await ruff_on(draft, select=["ZZZ9"])
    assert evidence.status == "error" and "ZZZ9" in evidence.text


async def test_no_configuration_of_the_folder_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "ruff.toml").write_text("lint.ignore = ['F401']\n")
    monkeypatch.chdir(tmp_path)
    assert (await ruff_on("import os\n")).status == "failed"


@pytest.mark.parametrize("draft", ["def f(:\n", "x = '\x00'\n", "(" * 3000 + ")" * 3000, "import os\n" * 5000])
async def test_odd_drafts_have_few_findings_and_one_verdict(draft: str) -> None:
    evidence = await ruff_on(draft)
    assert evidence.status in ("passed", "failed", "error") and len(evidence.findings) <= 50
    assert len(evidence.text) < 10_000


async def test_a_draft_that_is_no_text_is_no_verdict() -> None:
    assert (await ruff_on("x = '\ud800'\n")).status == "error"


@pytest.mark.parametrize(("options", "said"), [
    ({"level": "warn"}, "level"),
    ({"select": "--fix"}, "no rule of ruff"),
    ({"ignore": [""]}, "no rule of ruff"),
    ({"rules": []}, "unknown option"),
    ({"select": ["E4", "NOPE9"]}, "check ruff: ruff refuses its rules: .*NOPE9"),
    ({"ignore": "NOPE9"}, "check ruff: ruff refuses its rules: .*NOPE9"),
])  # fmt: skip
async def test_wrong_options_are_wrong_use(options: dict[str, object], said: str) -> None:
    with pytest.raises(WrongUse, match=said):
        await ruff_on("x = 1\n", **options)


async def test_without_ruff_the_check_is_not_run_and_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ruff, "find_ruff", lambda: None)
    evidence = await ruff_on("import os\n")
    assert (evidence.status, evidence.executions) == ("not_run", 0) and "pip install ruff" in evidence.text


@pytest.mark.parametrize(
    "excuse", ["# ruff: no" + "qa\nimport os\n", "import os  # no" + "qa\n", "# ruff: disable[F401]\nimport os\n"]
)
async def test_a_draft_can_not_excuse_itself(excuse: str) -> None:
    evidence = await ruff_on(excuse)
    assert (evidence.status, [f.id for f in evidence.failed_findings]) == ("failed", ["F401:1"])


async def test_a_fix_that_is_too_long_for_an_answer_is_left_out_and_the_findings_stay() -> None:
    evidence = await ruff_on("import os\n" + "x = 1\n" * 190_000)
    assert (evidence.status, [f.id for f in evidence.findings], evidence.fix) == ("failed", ["F401:1"], None)
