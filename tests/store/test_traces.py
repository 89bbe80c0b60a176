"""The index: rebuildable, idempotent, never in the way."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

from reflect_lab.core.errors import StoreError, WrongUse
from reflect_lab.core.policy import Limits, Policy
from reflect_lab.core.run import Run
from reflect_lab.store import ingest, schema
from reflect_lab.store.layout import process_file
from reflect_lab.store.log import LogRecorder
from reflect_lab.store.relations import RELATIONS, markdown
from reflect_lab.store.traces import Traces
from reflect_lab.tracing import attributes
from reflect_lab.tracing.provider import Tracing
from reflect_lab.tracing.spans import SpanObserver
from tests.store.driver import COLOUR_MISSING, REVISED, UNGROUNDED, critique, empty_run, play, refused, roles

TOTALS = (
    "SELECT (SELECT sum(input_tokens) FROM runs), (SELECT sum(input_tokens) FROM rounds), "
    "(SELECT sum(input_tokens) FROM calls), (SELECT sum(input_tokens) FROM spans), "
    "(SELECT count(*) FROM drafts), (SELECT count(*) FROM issues), (SELECT count(*) FROM evidence)"
)
RELATION_NAMES = [relation.name for relation in RELATIONS]


async def record(folder: Path, *names: str, drafts: tuple[str, ...] = REVISED) -> list[Run]:
    """Runs of one process, with log and spans; each is accepted in its second round."""
    recorder = LogRecorder(folder)
    tracing = Tracing(process_file(folder, "spans"), {})
    observers = [recorder, SpanObserver(tracing.tracer)]
    runs = [await play(observers, drafts, run=empty_run(name)) for name in names]
    recorder.close()
    tracing.close()
    return runs


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with one run, for tests that change nothing in it."""
    folder = tmp_path_factory.mktemp("recorded")
    asyncio.run(record(folder, "one"))
    return folder


def contents(traces: Traces) -> dict[str, list[tuple[object, ...]]]:
    return {name: sorted(traces.sql(f"FROM {name}").rows, key=repr) for name in RELATION_NAMES}


async def test_the_relations_agree_with_the_run_and_the_calls(tmp_path: Path) -> None:
    recorder = LogRecorder(tmp_path)
    actors = roles(REVISED, (critique(COLOUR_MISSING, UNGROUNDED, score=0.3), critique()))
    run = await play([recorder], actors=actors)
    handed_out = actors.generator.client.handed_out + actors.critic.client.handed_out
    traces = Traces(tmp_path)
    (row,) = traces.sql("FROM runs")
    assert (row["input_tokens"], row["output_tokens"]) == tuple(map(sum, zip(*handed_out, strict=True)))
    assert (row["status"], row["stop_reason"], row["rounds"], row["draft_index"]) == ("accepted", "pass", 2, 1)
    assert row["total_tokens"] == row["input_tokens"] + row["output_tokens"]
    assert row["seconds"] == run.usage.seconds == 4 * 0.25 + 2 * 0.5
    assert row["cost"] is None and row["cached_tokens"] is None  # unknown, not zero
    assert row["attributes"]["tag.course"] == "one"
    first, second = traces.sql("FROM rounds ORDER BY round")
    assert (first["score"], first["blocking"], first["discarded"], first["failed_checks"]) == (0.3, 2, 1, 1)
    assert (first["action"], second["action"], second["reason"]) == ("revise", "stop", "pass")
    assert first["critic_output_tokens"] == actors.critic.client.handed_out[0][1]
    kept = traces.sql("SELECT key, is_kept, is_sent, discard_reason FROM issues ORDER BY key NULLS LAST").rows
    assert [(key, kept_, sent) for key, kept_, sent, _ in kept] == [
        ("R1", True, True), ("check:length/words", True, True), (None, False, False),
    ]  # fmt: skip
    assert kept[-1][-1]  # a discarded issue says why
    assert [row["text"] for row in traces.sql("FROM drafts ORDER BY draft_index")] == list(REVISED)
    assert traces.run("last") == run


async def test_unknown_usage_is_null_in_every_sum(tmp_path: Path) -> None:
    recorder = LogRecorder(tmp_path)
    run = await play([recorder], [refused("no credit")])
    assert run.outcome is not None and run.outcome.stop_reason == "error"
    (row,) = Traces(tmp_path).sql("FROM runs")
    assert (row["status"], row["error_kind"], row["rounds"]) == ("stopped", "provider_refused", 0)
    (call,) = Traces(tmp_path).sql("FROM calls")
    assert call["input_tokens"] is None and call["status"] == "failed"


async def test_a_server_that_claims_more_tokens_than_the_index_can_count_leaves_them_unknown(tmp_path: Path) -> None:
    recorder = LogRecorder(tmp_path)
    actors = roles(REVISED, (critique(),))
    actors.generator.client.boast = 10**30
    policy = Policy(limits=Limits(total_tokens=None))
    run = await play([recorder], actors=actors, run=empty_run(policy=policy))
    recorder.close()
    assert run.usage.input_tokens is not None and run.usage.input_tokens > 10**30
    (call, *_) = Traces(tmp_path).sql("FROM calls ORDER BY call")
    assert (call["status"], call["input_tokens"]) == ("ok", None)


async def test_reading_twice_changes_nothing(tmp_path: Path) -> None:
    await record(tmp_path, "one", "two")
    traces = Traces(tmp_path)
    before = contents(traces)
    with duckdb.connect(str(tmp_path / "reflect.duckdb")) as connection:
        schema.forget_files(connection)  # every file is read again
    assert contents(traces) == before
    assert all(before[name] for name in RELATION_NAMES if name != "labels")


async def test_copied_files_never_double_a_total(tmp_path: Path) -> None:
    await record(tmp_path, "one", "two")
    traces = Traces(tmp_path)
    before = traces.sql(TOTALS).rows
    for kind in ("log", "spans"):
        (path,) = (tmp_path / kind).iterdir()
        shutil.copy(path, path.with_name("copy.jsonl"))
    with next((tmp_path / "spans").glob("copy*")).open("a") as file:
        file.write("".join(reversed((tmp_path / "spans" / "copy.jsonl").read_text().splitlines(keepends=True))))
    assert traces.sql(TOTALS).rows == before
    (tmp_path / "reflect.duckdb").unlink()
    assert traces.sql(TOTALS).rows == before


async def test_an_index_that_is_deleted_is_rebuilt_the_same(tmp_path: Path) -> None:
    await record(tmp_path, "one", "two")
    traces = Traces(tmp_path)
    before = contents(traces)
    (tmp_path / "reflect.duckdb").unlink()
    assert contents(traces) == before


async def test_new_runs_appear_while_only_what_is_new_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recorder = LogRecorder(tmp_path)
    await play([recorder], run=empty_run("one"))
    traces = Traces(tmp_path)
    assert len(traces.runs()) == 1
    size = recorder.path.stat().st_size
    await play([recorder], run=empty_run("two"))
    starts: list[int] = []
    real = ingest.read_log
    monkeypatch.setattr(ingest, "read_log", lambda path, start: starts.append(start) or real(path, start))
    assert [row["run_id"] for row in traces.sql("FROM runs ORDER BY run_id")] == ["one", "two"]
    assert starts == [size]
    assert len(traces.runs()) == 2 and starts == [size]  # nothing new: nothing read


async def test_a_log_that_is_gone_takes_its_runs_with_it(tmp_path: Path) -> None:
    await record(tmp_path, "one")
    await record(tmp_path, "two")
    traces = Traces(tmp_path)
    assert len(traces.runs()) == 2
    gone = next(p for p in (tmp_path / "log").iterdir() if '"run":"one"' in p.read_text())
    gone.unlink()
    assert [row["run_id"] for row in traces.sql("FROM runs")] == ["two"]
    assert {row["run_id"] for row in traces.sql("FROM drafts")} == {"two"}


async def test_a_copy_takes_the_place_of_a_file_that_is_gone(tmp_path: Path) -> None:
    await record(tmp_path, "one", "two")
    traces = Traces(tmp_path)
    before = traces.sql(TOTALS).rows
    originals = [next((tmp_path / kind).iterdir()) for kind in ("log", "spans")]
    for path in originals:
        shutil.copy(path, path.with_name("copy.jsonl"))
    assert traces.sql(TOTALS).rows == before
    for path in originals:
        path.unlink()
    assert traces.sql(TOTALS).rows == before
    assert [row["log_file"] for row in traces.sql("FROM runs")] == ["copy.jsonl"] * 2


HOLDER = """
import duckdb, sys
connection = duckdb.connect(sys.argv[1])
print("held", flush=True)
sys.stdin.readline()
"""


LEAVES_A_WAL = """
import duckdb, os, sys
connection = duckdb.connect(sys.argv[1])
for number in range(50):
    connection.execute("INSERT INTO raw.content VALUES (?, repeat('x', 1000))", [str(number)])
os._exit(0)
"""


def hold(folder: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", HOLDER, str(folder / "reflect.duckdb")]
    holder = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert holder.stdout.readline() == "held\n"
    return holder


async def test_an_index_that_another_process_holds_is_built_in_memory_with_a_notice(tmp_path: Path) -> None:
    await record(tmp_path, "one")
    traces = Traces(tmp_path, lock_deadline_s=0.2)
    before = contents(traces)
    await record(tmp_path, "two")
    with hold(tmp_path) as holder:
        assert len(traces.runs()) == 2
        assert "another process holds" in traces.notices[0]
        assert traces.run("one").run_id == "one"
        with pytest.raises(WrongUse):
            traces.sql("FROM read_csv('/etc/passwd')")
        holder.communicate("\n")
    assert len(traces.runs()) == 2
    assert traces.notices == ()
    assert all(row in contents(traces)["runs"] for row in before["runs"])


async def test_an_index_is_waited_for_while_another_process_holds_it_shortly(tmp_path: Path) -> None:
    await record(tmp_path, "one")
    holder = hold(tmp_path)
    traces = Traces(tmp_path, lock_deadline_s=60)
    holder.stdin.write("\n")
    holder.stdin.flush()  # it lets go some time after this, while the index is already asked for
    assert len(traces.runs()) == 1
    assert traces.notices == ()
    holder.communicate()


@pytest.mark.parametrize("damage", ["garbage", "empty", "flipped"])
async def test_a_damaged_index_is_put_aside_and_built_anew(tmp_path: Path, damage: str) -> None:
    await record(tmp_path, "one")
    traces = Traces(tmp_path)
    before = contents(traces)
    path = tmp_path / "reflect.duckdb"
    data = bytearray(path.read_bytes())
    if damage == "garbage":
        path.write_bytes(b"no database" * 5000)
    elif damage == "empty":
        path.write_bytes(b"")
    else:
        for place in range(9000, len(data), 997):
            data[place] ^= 0xFF
        path.write_bytes(bytes(data))
    await record(tmp_path, "two")
    assert len(traces.runs()) == 2
    assert "damaged" in traces.notices[0]
    assert any(".corrupt-" in name for name in os.listdir(tmp_path))
    assert all(row in contents(traces)["runs"] for row in before["runs"])


async def test_a_torn_write_ahead_log_loses_no_run(tmp_path: Path) -> None:
    await record(tmp_path, "one")
    traces = Traces(tmp_path)
    before = contents(traces)
    leave_a_torn_wal(tmp_path / "reflect.duckdb")
    assert contents(traces) == before


def leave_a_torn_wal(path: Path) -> None:
    subprocess.run([sys.executable, "-c", LEAVES_A_WAL, str(path)], check=True)
    wal = path.with_name("reflect.duckdb.wal")
    torn = bytearray(wal.read_bytes())
    torn[len(torn) // 2] ^= 0xFF
    wal.write_bytes(bytes(torn))


async def test_a_folder_that_cannot_be_written_is_read_all_the_same(tmp_path: Path) -> None:
    await record(tmp_path, "one")
    (tmp_path / "reflect.duckdb").mkdir()  # stands in the way, for any user
    traces = Traces(tmp_path)
    assert len(traces.runs()) == 1
    assert "built in memory" in traces.notices[0]


async def test_an_index_of_a_later_version_is_left_alone(tmp_path: Path) -> None:
    await record(tmp_path, "one")
    traces = Traces(tmp_path)
    assert len(traces.runs()) == 1
    with duckdb.connect(str(tmp_path / "reflect.duckdb")) as connection:
        connection.execute("INSERT INTO raw.migrations VALUES ('999_later')")
    assert len(traces.runs()) == 1
    assert "later version" in traces.notices[0]
    with duckdb.connect(str(tmp_path / "reflect.duckdb")) as connection:
        assert connection.execute("SELECT count(*) FROM raw.migrations").fetchone() == (2,)


async def test_an_index_with_other_columns_is_rebuilt(tmp_path: Path) -> None:
    await record(tmp_path, "one")
    traces = Traces(tmp_path)
    before = contents(traces)
    with duckdb.connect(str(tmp_path / "reflect.duckdb")) as connection:
        connection.execute("ALTER TABLE raw.runs DROP COLUMN message")
    assert contents(traces) == before


def test_a_folder_without_traces_has_no_runs_and_is_not_made(tmp_path: Path) -> None:
    traces = Traces(tmp_path / "none")
    assert len(traces.runs()) == 0
    assert traces.notices == () and not (tmp_path / "none").exists()
    with pytest.raises(StoreError, match="no runs"):
        traces.run("last")


@pytest.mark.parametrize(
    "query",
    [
        "CREATE TABLE x (i INTEGER)", "DROP VIEW runs", "DELETE FROM raw.runs", "SELECT 1; SELECT 2", "",
        "COPY (SELECT 1) TO 'out.csv'", "FROM read_csv('/etc/passwd')", "SELECT * FROM glob('/etc/*')",
        "ATTACH 'x.db'", "SET enable_external_access = true", "INSTALL httpfs", "SELECT * FROM nowhere",
        "WITH x AS (DELETE FROM raw.runs RETURNING 1) SELECT * FROM x",
    ],
)  # fmt: skip
def test_a_query_can_only_read_traces(recorded: Path, query: str) -> None:
    traces = Traces(recorded)
    with pytest.raises(WrongUse):
        traces.sql(query)
    assert len(traces.runs()) == 1


async def test_a_run_is_found_by_the_start_of_its_id(tmp_path: Path) -> None:
    await record(tmp_path, "01JAAA1", "01JAAB2", "01JAA")
    traces = Traces(tmp_path)
    assert traces.run("01jaab").run_id == "01JAAB2"
    assert traces.run("01JAA").run_id == "01JAA"  # whole ids come before starts
    with pytest.raises(StoreError, match="3 runs start with"):
        traces.run("01J")
    with pytest.raises(StoreError, match=r"no run '01JAAB3'.*01JAAB2"):
        traces.run("01JAAB3")


async def test_hostile_texts_reach_the_index_and_the_terminal_unharmed(tmp_path: Path) -> None:
    hostile = "a\ud800\0 sea \x1b[2J\u202e'); DROP TABLE runs; --\n" + "x" * 5000
    await record(tmp_path, "one", drafts=(hostile, *REVISED[1:]))
    traces = Traces(tmp_path)
    (first, _) = traces.sql("SELECT text FROM drafts ORDER BY draft_index").rows
    assert first[0] == hostile.replace("\ud800", "\\ud800")
    shown = traces.sql("SELECT text FROM drafts").text()
    assert "\x1b" not in shown and "\u202e" not in shown and "[RLO]" in shown
    assert traces.run("one").rounds[0].draft.text == hostile


async def test_a_table_becomes_a_frame_and_text(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    await record(tmp_path, "one")
    table = Traces(tmp_path).sql("SELECT run_id, rounds, cost FROM runs")
    frame = table.to_df()
    assert isinstance(frame, pandas.DataFrame) and list(frame.columns) == ["run_id", "rounds", "cost"]
    assert table.text() == "run_id  rounds  cost\n------  ------  ----\none          2     -\n(1 row)"
    assert [row["rounds"] for row in table] == [2]


async def test_orphan_and_late_spans_are_taken_in(tmp_path: Path) -> None:
    await record(tmp_path, "one")
    (path,) = (tmp_path / "spans").iterdir()
    lines = path.read_text().splitlines(keepends=True)[::-1]  # parents first, though they end last
    path.write_text("".join(lines[1:6]) + lines[6][:30])  # the root is missing, the last line is half written
    traces = Traces(tmp_path)
    assert len(traces.sql("FROM spans")) == 5
    orphans = "SELECT count(*) FROM spans s ANTI JOIN spans p ON p.span_id = s.parent_span_id"
    assert traces.sql(orphans).rows[0][0] >= 1
    junk = ["not json\n", json.dumps({"resourceSpans": [{"scopeSpans": 3}]}) + "\n"]
    path.write_text("".join([*lines[1:], *junk, *lines]))
    assert len(traces.sql("FROM spans")) == len(lines)


async def test_a_span_that_comes_again_later_replaces_the_earlier_one(tmp_path: Path) -> None:
    await record(tmp_path, "one")
    traces = Traces(tmp_path)
    count = len(traces.sql("FROM spans"))
    (path,) = (tmp_path / "spans").iterdir()
    root = json.loads(path.read_text().splitlines()[-1])
    span = root["resourceSpans"][0]["scopeSpans"][0]["spans"][0]
    span["endTimeUnixNano"] = str(int(span["endTimeUnixNano"]) + 10**9)
    span["attributes"] = [{"key": "reflect.stop.reason", "value": {"stringValue": "stalled"}}]
    (tmp_path / "spans" / "later.jsonl").write_text(json.dumps(root) + "\n")
    reasons = traces.sql("SELECT stop_reason FROM spans WHERE parent_span_id IS NULL").rows
    assert reasons == (("stalled",),)
    assert len(traces.sql("FROM spans")) == count


def test_the_reference_page_lists_the_real_columns(tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "relations.md").read_text()
    assert page == markdown(), "regenerate docs/relations.md from reflect_lab.store.relations.markdown()"
    with duckdb.connect() as connection:
        schema.migrate(connection)
        for relation in RELATIONS:
            described = connection.execute(f"DESCRIBE {relation.name}").fetchall()
            assert [(row[0], row[1]) for row in described] == [(c.name, c.type) for c in relation.columns]


def test_span_columns_are_filled_from_attributes_that_spans_carry() -> None:
    known = {value for name, value in vars(attributes).items() if name.isupper()}
    (spans,) = (relation for relation in RELATIONS if relation.name == "spans")
    wanted = {column.attribute for column in spans.columns if column.attribute}
    assert wanted and wanted <= known
