"""Reading logs that somebody else writes, has stopped writing, or wrote badly."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from reflect_lab.core.events import DraftWritten
from reflect_lab.core.run import Draft
from reflect_lab.store.log import LogRecorder
from reflect_lab.store.reader import StoredRun, read_log, read_traces
from reflect_lab.store.traces import Traces
from tests.store.driver import REVISED, critique, empty_run, play

CHILD = """
import asyncio, sys
from pathlib import Path
from tests.store import driver
from reflect_lab.store.log import LogRecorder
from reflect_lab.store.layout import process_file
from reflect_lab.tracing.provider import Tracing
from reflect_lab.tracing.spans import SpanObserver

folder, run_id, wait_at_call = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
recorder = LogRecorder(folder)
tracing = Tracing(process_file(folder, "spans"), {})
actors = driver.roles(driver.REVISED, (driver.critique(driver.COLOUR_MISSING), driver.critique()))

def before(request):
    if request.call == wait_at_call:
        print("waiting", flush=True)
        sys.stdin.readline()

actors.generator.client.before = actors.critic.client.before = before
run = asyncio.run(driver.play([recorder, SpanObserver(tracing.tracer)], run=driver.empty_run(run_id), actors=actors))
print(run.outcome.status, flush=True)
sys.stdin.readline()
"""


def start(folder: Path, run_id: str, wait_at_call: int = 0) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", CHILD, str(folder), run_id, str(wait_at_call)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
    )


def only(folder: Path) -> StoredRun:
    (stored,) = read_traces(folder)
    return stored


@pytest.mark.parametrize("call, drafts, paid", [(3, 1, 2), (4, 2, 3)])
def test_a_run_killed_between_two_paid_calls_is_interrupted_with_all_that_was_paid_for(
    tmp_path: Path, call: int, drafts: int, paid: int
) -> None:
    with start(tmp_path, "killed", call) as child:
        assert child.stdout.readline() == "waiting\n"
        assert only(tmp_path).status == "running"
        assert [row["status"] for row in Traces(tmp_path).sql("FROM runs")] == ["running"]
        child.send_signal(signal.SIGKILL)
    stored = only(tmp_path)
    assert stored.status == "interrupted"
    assert [one.draft.text for one in stored.run.rounds] == list(REVISED[:drafts])
    assert stored.run.usage.calls == paid == len(stored.run.ledger)
    assert stored.problems == ()
    traces = Traces(tmp_path)
    # the log did not change with the kill: the index must look at the lock
    assert [row["status"] for row in traces.sql("FROM runs")] == ["interrupted"]
    assert [row["text"] for row in traces.sql("FROM drafts ORDER BY draft_index")] == list(REVISED[:drafts])
    # every span that had ended is there, the root is not: children are orphans of the same run
    spans = traces.sql("SELECT name, run_id FROM spans")
    assert sum(row["name"] == "chat played" for row in spans) == paid
    assert "invoke_workflow reflect" not in [row["name"] for row in spans]
    assert {row["run_id"] for row in spans} == {"killed"}


def test_a_live_process_that_has_ended_its_run_leaves_no_running_run(tmp_path: Path) -> None:
    with start(tmp_path, "done") as child:
        assert child.stdout.readline() == "accepted\n"
        assert only(tmp_path).status == "accepted"
        child.communicate("\n")


def test_two_processes_write_at_once_and_both_runs_are_whole(tmp_path: Path) -> None:
    with start(tmp_path, "one", 3) as one, start(tmp_path, "two", 3) as two:
        assert one.stdout.readline() == two.stdout.readline() == "waiting\n"
        assert {stored.status for stored in read_traces(tmp_path)} == {"running"}
        for child in (one, two):
            child.stdin.write("\n")
            child.stdin.flush()
        assert one.stdout.readline() == two.stdout.readline() == "accepted\n"
        one.communicate("\n")
        two.communicate("\n")
    runs = {stored.run.run_id: stored for stored in read_traces(tmp_path)}
    assert runs.keys() == {"one", "two"}
    assert len({stored.log_file for stored in runs.values()}) == 2
    assert all(len(stored.run.rounds) == 2 for stored in runs.values())
    assert Traces(tmp_path).sql("SELECT count(*) AS n FROM spans WHERE operation = 'chat'").rows == ((8,),)


@pytest.mark.parametrize("cut", [1, 40, -1])
async def test_a_half_written_last_line_is_as_if_it_was_never_written(tmp_path: Path, cut: int) -> None:
    recorder = LogRecorder(tmp_path)
    await play([recorder])
    recorder.close()
    lines = recorder_lines(tmp_path)
    path = next((tmp_path / "log").iterdir())
    last = lines[-1][:cut]
    path.write_bytes(b"".join(lines[:-1]) + last)
    stored = only(tmp_path)
    assert stored.problems == ()
    assert len(stored.run.rounds) == 2
    # what decides is there: only the closing line is lost
    assert stored.status == "accepted"


async def test_every_prefix_of_a_log_can_be_read(tmp_path: Path) -> None:
    recorder = LogRecorder(tmp_path)
    run = await play([recorder])
    recorder.close()
    lines = recorder_lines(tmp_path)
    path = next((tmp_path / "log").iterdir())
    events = []
    for count in range(1, len(lines) + 1):
        path.write_bytes(b"".join(lines[:count]))
        stored = only(tmp_path)
        assert stored.problems == ()
        assert stored.events[: len(events)] == tuple(events)
        events = list(stored.events)
    assert stored.run == run


async def test_a_broken_line_spoils_its_own_run_and_no_other(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    recorder = LogRecorder(tmp_path)
    await play([recorder], run=empty_run("spoiled"))
    await play([recorder], run=empty_run("whole"))
    recorder.close()
    path = next((tmp_path / "log").iterdir())
    lines = recorder_lines(tmp_path)
    place = next(i for i, line in enumerate(lines) if b'"draft_written"' in line)
    lines[place] = b'{"v":1,"se\x00\xff\n'
    path.write_bytes(b"".join(lines))
    spoiled, whole = sorted(read_traces(tmp_path), key=lambda stored: stored.run.run_id)
    assert whole.problems == () and whole.status == "accepted"
    assert spoiled.problems and spoiled.run.rounds == ()
    # how it ended was announced; that the record has a hole is said with it
    assert spoiled.status == "accepted" and not spoiled.run.outcome.recorded
    assert [row["recorded"] for row in Traces(tmp_path).sql("FROM runs ORDER BY run_id")] == [False, True]
    assert any(notice.kind == "unreadable" for notice in spoiled.run.notices)
    assert "can read" in caplog.text


def test_a_doubled_line_counts_once(tmp_path: Path) -> None:
    recorder = LogRecorder(tmp_path)
    run = empty_run()
    with recorder.around_run(run):
        recorder.on_event(run, DraftWritten(draft=Draft(index=0, text="once")))
    recorder.close()
    path = next((tmp_path / "log").iterdir())
    path.write_bytes(b"".join(line * 2 for line in recorder_lines(tmp_path)))
    assert len(only(tmp_path).events) == 1


def test_a_run_that_was_torn_down_without_an_outcome_does_not_run_for_ever(tmp_path: Path) -> None:
    recorder = LogRecorder(tmp_path)
    with pytest.raises(KeyboardInterrupt), recorder.around_run(empty_run()):
        raise KeyboardInterrupt
    assert only(tmp_path).status == "interrupted"  # though this process still holds the file


async def test_failed_observers_and_other_notices_of_the_loop_are_kept(tmp_path: Path) -> None:
    from reflect_lab.core.observer import Observer

    class Broken(Observer):
        is_recording = True

        def on_event(self, run: object, event: object) -> None:
            raise OSError("broken pipe")

    recorder = LogRecorder(tmp_path)
    run = await play([Broken(), recorder])
    assert run.outcome is not None and not run.outcome.recorded
    assert only(tmp_path).run == run


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork on this system")
def test_a_forked_child_neither_keeps_the_lock_nor_writes_into_its_parents_file(tmp_path: Path) -> None:
    recorder = LogRecorder(tmp_path)
    with recorder.around_run(empty_run("parent")):
        child = os.fork()
        if child == 0:
            status = 1
            try:
                with recorder.around_run(empty_run("child")):
                    status = 0
            finally:
                os._exit(status)
        assert os.waitpid(child, 0)[1] == 0
        assert len(list((tmp_path / "log").iterdir())) == 2
        assert read_log(recorder.path).is_live
    recorder.close()
    assert {stored.run.run_id for stored in read_traces(tmp_path)} == {"parent", "child"}


def test_lines_of_an_unknown_kind_are_passed_over(tmp_path: Path) -> None:
    recorder = LogRecorder(tmp_path)
    with recorder.around_run(empty_run()):
        pass
    recorder.close()
    path = next((tmp_path / "log").iterdir())
    head = json.loads(recorder_lines(tmp_path)[0])
    extra = {"v": 1, "seq": 99, "run": head["run"], "time": head["time"], "type": "from_the_future", "x": 1}
    with path.open("a") as file:
        file.write(json.dumps(extra) + "\n")
    assert only(tmp_path).problems == ()


async def test_an_unreadable_critique_and_its_repair_survive_with_their_texts(tmp_path: Path) -> None:
    recorder = LogRecorder(tmp_path)
    run = await play([recorder], ["a sea, blue and wide"], ["hello", critique()])
    assert [row.text for row in run.ledger if row.text] == ["hello"]
    assert only(tmp_path).run == run


def recorder_lines(folder: Path) -> list[bytes]:
    return next((folder / "log").iterdir()).read_bytes().splitlines(keepends=True)


@pytest.mark.parametrize("junk", [b'{"a":' * 20_000, b'{"seq":' + b"9" * 5000 + b"}", b"\xff\xfe", b"null", b"[]"])
async def test_a_line_of_junk_in_log_or_spans_leaves_all_runs_readable(tmp_path: Path, junk: bytes) -> None:
    recorder = LogRecorder(tmp_path)
    finished = await play([recorder])
    recorder.close()
    (log,) = (tmp_path / "log").iterdir()
    log.write_bytes(log.read_bytes() + junk + b"\n")
    (tmp_path / "spans").mkdir()
    (tmp_path / "spans" / "junk.jsonl").write_bytes(junk + b"\n")
    traces = Traces(tmp_path)
    assert traces.run("last").run_id == finished.run_id
    assert finished.run_id in str(traces.runs())
