"""Keys never reach a trace."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reflect_lab.core.evidence import Evidence, Finding, Sandbox
from reflect_lab.core.policy import Policy
from reflect_lab.core.run import Draft, Round, Run
from reflect_lab.core.task import Task
from reflect_lab.documents.run_document import dump_run, load_run
from reflect_lab.store.layout import process_file
from reflect_lab.store.log import LogRecorder
from reflect_lab.store.redact import Redactor
from reflect_lab.store.traces import Traces
from reflect_lab.tracing.content import Content
from reflect_lab.tracing.provider import Tracing
from reflect_lab.tracing.spans import SpanObserver
from tests.store.driver import REVISED, TASK, critique, empty_run, play

SECRET = 'correct horse "battery" staple'
SHAPED = [
    "sk-proj-Abc123Def456Ghi789Jkl012",
    "ghp_" + "a1B2" * 9,
    "hf_" + "aB" * 17,
    "AIza" + "Sy1-" * 9,
    "AKIA" + "ABCD1234EFGH5678",
    "xoxb-1234567890-abcdef",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl",
]


def test_values_of_telling_names_are_hidden_and_others_are_not() -> None:
    environ = {
        "OPENAI_API_KEY": "abcdefgh-1", "X_TOKEN": "abcdefgh-2", "A_SECRET": "abcdefgh-3",
        "DB_PASSWORD_2": "abcdefgh-4", "HOME": "/home/someone", "SHORT_KEY": "abc", "SPAN_KIND": "abcdefgh-5",
    }  # fmt: skip
    text = " ".join(environ.values())
    assert Redactor(environ).text(text) == (
        "[redacted:OPENAI_API_KEY] [redacted:X_TOKEN] [redacted:A_SECRET] [redacted:DB_PASSWORD_2] "
        "/home/someone abc abcdefgh-5"
    )


@pytest.mark.parametrize("secret", SHAPED)
def test_keys_are_known_by_their_shape(secret: str) -> None:
    hidden = Redactor().text(f"curl -H 'Authorization: Bearer {secret}' # {secret}.")
    assert secret not in hidden and "[redacted:" in hidden


def test_a_password_in_a_url_and_a_private_key_are_hidden() -> None:
    text = "postgres://me:hunter2hunter2@host/db\n-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----"
    assert Redactor().text(text) == "postgres://[redacted:url_password]@host/db\n[redacted:private_key]"


@pytest.mark.parametrize(
    "text",
    ["the task-force met", "risk-based", "Bearer of bad news", "https://host:8000/a@b", "def f(sk): return sk-1"],
)
def test_ordinary_text_is_left_alone(text: str) -> None:
    assert Redactor().text(text) == text


def test_a_key_is_found_in_the_forms_that_json_and_urls_give_it() -> None:
    redactor = Redactor({"MY_SECRET": SECRET})
    for form in (SECRET, json.dumps({"a": SECRET}), "q=correct%20horse%20%22battery%22%20staple"):
        assert "battery" not in redactor.text(form)


def test_values_are_searched_through_and_our_own_words_stay() -> None:
    redactor = Redactor({"A_KEY": "accepted", "B_KEY": "generator", "C_KEY": "very-secret"})
    document = {"status": "accepted", "role": "generator", "list": ["x very-secret"], "very-secret": 1, "n": None}
    assert redactor.value(document) == {
        "status": "accepted", "role": "generator", "list": ["x [redacted:C_KEY]"], "[redacted:C_KEY]": 1, "n": None,
    }  # fmt: skip


def test_a_key_that_happens_to_be_one_of_our_own_words_breaks_no_record() -> None:
    finding = Finding(id="a", status="advisory", message="odd")
    sandbox = Sandbox(level=1, name="limits", verdict_integrity="in_process")
    piece = Evidence(source="s", kind="k", rank="deterministic", status="passed", findings=(finding,), sandbox=sandbox)
    rounds = (Round(index=0, draft=Draft(index=0, text="d"), evidence=(piece,)),)
    run = Run(run_id="r", task=Task(text="x"), policy=Policy(), rounds=rounds)
    words = ("advisory", "in_process", "required", "reported", "when_gates_pass", "deterministic", "requirements")
    redactor = Redactor({f"{word.upper()}_KEY": word for word in words})
    assert load_run(redactor.value(dump_run(run))) == run


@given(text=st.text(), secret=st.text(min_size=8, max_size=12))
def test_redacting_twice_is_redacting_once(text: str, secret: str) -> None:
    redactor = Redactor({"K_KEY": secret})
    once = redactor.text(f"{text}{secret}{text} sk-{'a1' * 12}")
    assert redactor.text(once) == once


@pytest.mark.parametrize("is_captured", [False, True])
async def test_no_file_holds_a_key_of_task_draft_critique_or_error(tmp_path: Path, is_captured: bool) -> None:
    redactor = Redactor({"MY_API_KEY": SECRET})
    recorder = LogRecorder(tmp_path, redactor)
    tracing = Tracing(process_file(tmp_path, "spans"), {})
    content = Content(redactor.text, is_captured)
    issue = {"id": SECRET, "severity": "blocking", "requirement": "R1", "evidence": SECRET, "suggestion": SHAPED[0]}
    run = replace(empty_run(task=replace(TASK, text=f"Use {SECRET}.")), name=SECRET, tags={"who": SECRET})
    long = f"{SECRET} " * 300
    await play(
        [recorder, SpanObserver(tracing.tracer, content)],
        [f"a {long}", f"a sea {SHAPED[1]}", RuntimeError(f"HTTP 401 for {SECRET}")],
        [critique(issue, score=0.1)] * 3,
        run=run,
    )
    traces = Traces(tmp_path)
    for name in ("runs", "drafts", "issues", "spans", "decisions", "calls", "evidence"):
        assert "battery" not in repr(traces.sql(f"FROM {name}").rows)
    recorder.close()
    files = files_below(tmp_path)
    assert {path.suffix for path in files} == {".jsonl", ".duckdb"}
    for path in files:
        data = path.read_bytes()
        for secret in ("battery", *SHAPED[:2]):
            assert secret.encode() not in data, path
    # the hashes on spans are those of the texts that the log holds
    hashes = "SELECT s.draft_sha256, d.sha256 FROM spans s JOIN drafts d USING (run_id, draft_index)"
    rows = traces.sql(f"{hashes} WHERE s.name = 'reflect.generate'").rows
    assert rows and all(span == draft for span, draft in rows)


async def test_a_run_without_keys_is_recorded_word_for_word(tmp_path: Path) -> None:
    recorder = LogRecorder(tmp_path, Redactor({"MY_API_KEY": SECRET}))
    run = await play([recorder], REVISED)
    assert Traces(tmp_path).run("last") == run


def files_below(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]
