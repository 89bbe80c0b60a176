"""`reflect-lab traces` and `reflect-lab doctor`, as real processes over the traces of a real run."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from reflect_lab.documents.tour import tour_task
from tests.end_to_end.processes import CANARY, COMMAND, Ended, environment, run, strict_json


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which the tour ran once."""
    folder = tmp_path_factory.mktemp("traced")
    (folder / "task.md").write_text(tour_task())
    words = ("run", "task.md", "--model", "scripted:tour", "--name", "first", "--json")
    assert run(*words, cwd=folder, env=environment(folder)).code == 0
    return folder


def traces(place: Path, *words: str) -> Ended:
    return run("traces", *words, cwd=place, env=environment(place))


def test_list_shows_the_runs_newest_first(place: Path) -> None:
    listed = traces(place, "list")
    assert listed.code == 0
    assert listed.stdout.splitlines()[0].startswith("run_id")
    assert "first" in listed.stdout and "accepted" in listed.stdout


def test_show_gives_the_run_for_people_and_as_the_document(place: Path) -> None:
    shown, told = traces(place, "show", "last"), traces(place, "show", "last", "--json")
    assert (shown.code, told.code) == (0, 0)
    assert shown.stdout.startswith("Accepted on the evidence shown")
    assert "empty-list" in shown.stdout
    assert told.document["outcome"]["stop_reason"] == "pass" and len(told.document["rounds"]) == 2


def test_show_of_an_unknown_run_names_the_nearest(place: Path) -> None:
    wrong = traces(place, "show", "01NOTHING")
    assert wrong.code == 1 and wrong.stdout == ""
    assert wrong.stderr.count("\n") == 1 and "nearest is 0" in wrong.stderr


def test_sql_answers_a_query_and_refuses_anything_else(place: Path) -> None:
    counted = traces(place, "sql", "select count(*) as n from rounds")
    assert counted.code == 0 and counted.stdout.split()[:3:2] == ["n", "2"]
    for query in ("delete from runs", "select * from read_text('/etc/passwd')", "select 1; select 2", "selec 1"):
        refused = traces(place, "sql", query)
        assert refused.code == 2 and refused.stdout == "", query
        assert refused.stderr.startswith("reflect-lab: ") and "Traceback" not in refused.stderr


def test_path_says_where_the_traces_are(place: Path, tmp_path: Path) -> None:
    assert traces(place, "path").stdout == f"{place / 'traces'}\n"
    assert traces(place, "path", "--traces", "here").stdout == f"{place / 'here'}\n"
    named = run("traces", "path", cwd=place, env=environment(place, REFLECT_TRACES=str(tmp_path / "there")))
    assert named.stdout == f"{tmp_path / 'there'}\n"


def test_a_reader_that_has_seen_enough_causes_no_traceback(place: Path) -> None:
    words = [*COMMAND, "traces", "sql", "select repeat('x', 1000) from range(1000)"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(words, cwd=place, env=environment(place), **pipes) as process:  # type: ignore[call-overload]
        process.stdout.close()
        assert process.stderr.read() == b""


def test_doctor_says_what_this_machine_has_and_never_a_key(tmp_path: Path) -> None:
    env = environment(tmp_path, OPENAI_API_KEY=CANARY, OPENAI_BASE_URL="http://127.0.0.1:9/v1")
    told, shown = run("doctor", "--json", cwd=tmp_path, env=env), run("doctor", cwd=tmp_path, env=env)
    assert (told.code, shown.code) == (0, 0)
    parts = strict_json(told.stdout)
    assert isinstance(parts, list)
    assert {"python", "packages", "embedded model", "endpoint", "sandbox", "traces"} <= {p["part"] for p in parts}
    for part in parts:
        assert part["state"] in ("ok", "missing", "note") and part["found"]
        assert part["part"] in shown.stdout
    assert CANARY not in told.stdout + told.stderr + shown.stdout + shown.stderr
    assert not (tmp_path / "traces").exists(), "looking changes nothing"


def test_doctor_reports_a_settings_file_that_cannot_be_used(tmp_path: Path) -> None:
    (tmp_path / "reflect-lab.toml").write_text("[endpoints.work\n")
    told = run("doctor", "--json", cwd=tmp_path, env=environment(tmp_path))
    assert told.code == 0, told.stderr
    parts = strict_json(told.stdout)
    assert isinstance(parts, list)
    (broken,) = [p for p in parts if p["part"] == "configuration"]
    assert broken["state"] == "missing" and "reflect-lab.toml" in broken["found"]


def test_doctor_names_the_endpoints_of_the_settings_file(tmp_path: Path) -> None:
    lines = [
        'default_model = "m@work"',
        "[endpoints.work]",
        'base_url = "http://127.0.0.1:9/v1"',
        'api_key_env = "WORK"',
    ]
    (tmp_path / "reflect-lab.toml").write_text("\n".join(lines))
    told = run("doctor", "--json", cwd=tmp_path, env=environment(tmp_path))
    parts = strict_json(told.stdout)
    assert isinstance(parts, list)
    found = {p["part"]: p for p in parts}
    assert found["default model"]["found"].startswith("m@work")
    assert found["endpoint work"]["state"] == "missing" and found["endpoint work"]["advice"] == "set WORK"
