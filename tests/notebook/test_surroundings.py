"""`%%reflect` where a front end can't wait for clicks: within other magics, after reloads, without a front end."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import nbformat
import psutil
import pytest

import reflect_lab as rl
from reflect_lab.documents.tour import tour_task
from reflect_lab.models import embedded
from tests.end_to_end.processes import all_gone, critique, environment
from tests.notebook.conftest import Lab
from tests.notebook.kernels import MIME, WIDGET, kernel
from tests.openai_server import Hang, OpenAITestServer, Reply
from tests.required import missing

SEA = "Describe the sea.\n- [ ] it names a colour\n"
BLUE = "The sea is wide and blue."
TERMINAL = (sys.executable, "-m", "IPython", "--simple-prompt", "--colors=NoColor", "--no-banner")


def judged(lab: Lab) -> None:
    """The server accepts the next run's first draft."""
    lab.server.add(Reply(BLUE), Reply(critique()))


def test_within_time_the_run_works_and_says_why_its_buttons_were_off(lab: Lab) -> None:
    judged(lab)
    cell = lab.kernel.good(f"%%time\n%%reflect --out timed\n{SEA}")
    assert cell.document["outcome"]["stop_reason"] == "pass"
    assert "buttons were off while this ran: the cell runs inside another magic" in cell.said
    assert "Wall time" in cell.said
    assert lab.kernel.value("timed.outcome.draft") == repr(BLUE)


def test_within_capture_the_run_works_and_its_result_is_captured(lab: Lab) -> None:
    judged(lab)
    cell = lab.kernel.good(f"%%capture caught\n%%reflect --out quiet\n{SEA}")
    assert cell.shown == [] and cell.said == ""
    assert lab.kernel.value("quiet.outcome.stop_reason") == "'pass'"
    assert (
        lab.kernel.value("len([o for o in caught.outputs if o.data]), 'buttons were off' in caught.stdout")
        == "(1, True)"
    )
    assert sorted([MIME, "text/html", "text/markdown", "text/plain"]) == json.loads(
        lab.kernel.value("__import__('json').dumps(sorted(caught.outputs[0].data))").strip("'")
    )


def test_an_interrupt_within_time_ends_the_run_too(lab: Lab) -> None:
    lab.server.add(Reply(BLUE), Hang())
    cell = lab.kernel.start(f"%%time\n%%reflect --out timed\n{SEA}")
    lab.server.await_requests(2, 60)
    lab.kernel.interrupt()
    cell.finish()
    assert cell.document["outcome"]["stop_reason"] == "cancelled"
    assert cell.document["outcome"]["draft"] == BLUE
    assert "the run was cancelled" in cell.said and "Traceback" not in cell.said
    assert lab.kernel.value("timed.outcome.stop_reason") == "'cancelled'"


def test_a_cell_after_a_cell_within_a_magic_is_live_again(lab: Lab) -> None:
    judged(lab)
    lab.kernel.good(f"%%time\n%%reflect\n{SEA}")
    judged(lab)
    cell = lab.kernel.good(f"%%reflect\n{SEA}")
    assert "buttons" not in cell.said
    assert [m for m in cell.messages if m["msg_type"] == "comm_open"], "there is a live view"


@pytest.mark.parametrize("again", ["%load_ext reflect_lab", "%reload_ext reflect_lab"])
def test_loading_again_changes_nothing(lab: Lab, again: str) -> None:
    for _ in range(2):
        lab.kernel.good(again)
    judged(lab)
    cell = lab.kernel.good(f"%%reflect\n{SEA}")
    assert len(cell.shown) == 1 and cell.document["outcome"]["stop_reason"] == "pass"
    assert [m for m in cell.messages if m["msg_type"] == "comm_open"], "there is a live view"
    count = "sum('awaiting' in repr(t) for t in get_ipython().input_transformers_post)"
    assert lab.kernel.value(count) == "1"


def test_unloading_takes_everything_away(lab: Lab) -> None:
    lab.kernel.good("%unload_ext reflect_lab")
    try:
        cell = lab.kernel.run(f"%%reflect\n{SEA}")
        assert "not found" in cell.said
        left = "[t for t in get_ipython().input_transformers_post if 'reflect' in repr(t)]"
        assert lab.kernel.value(left) == "[]"
    finally:
        lab.kernel.good("%load_ext reflect_lab")


def test_the_tour_explains_each_step_before_its_result(lab: Lab) -> None:
    cell = lab.kernel.good("%reflect tour")
    document = cell.document
    assert document["outcome"]["stop_reason"] == "pass" and len(document["rounds"]) == 2
    first, second = ([e["status"] for e in r["evidence"] if e["kind"] == "python"] for r in document["rounds"])
    assert sorted(first) == ["failed", "passed", "passed", "passed"] and set(second) == {"passed"}
    assert "assert mean([]) == 0.0" in json.dumps(document["rounds"][0]["critique"]["issues"])
    told = cell.said.split("\n\n")
    assert [line.split(".")[0].strip() for line in told][:4] == ["Draft 0", "Evidence", "Critique", "Decision"]
    assert "buttons" not in cell.said
    run_id = document["run_id"]
    counted = lab.kernel.good(f"%reflect sql \"select count(*) as n from rounds where run_id = '{run_id}'\"")
    assert "2" in counted.shown[-1]["text/plain"].split()


def test_an_altered_check_of_the_tour_is_not_accepted(lab: Lab) -> None:
    altered = tour_task().replace("mean([5]) == 5.0", "mean([5]) == 6.0")
    cell = lab.kernel.good(f"%%reflect --model scripted:tour\n{altered}")
    assert cell.document["outcome"]["status"] != "accepted"
    assert cell.document["outcome"]["stop_reason"] == "no_change"


def test_show_gives_the_same_forms_and_doctor_speaks(lab: Lab) -> None:
    judged(lab)
    first = lab.kernel.good(f"%%reflect --out r\n{SEA}")
    again = lab.kernel.good("%reflect show last")
    assert again.document == first.document and set(again.shown[0]) == set(first.shown[0])
    assert "embedded model" in lab.kernel.good("%reflect doctor").said


def test_nbconvert_executes_a_notebook_with_a_cell(tmp_path: Path) -> None:
    cells = [
        "%load_ext reflect_lab",
        f"%%reflect --model scripted:tour --out r\n{tour_task()}",
        "r.outcome.stop_reason",
    ]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    nbformat.write(notebook, tmp_path / "in.ipynb")
    words = ["nbconvert", "--to", "notebook", "--execute", "in.ipynb", "--output", "out.ipynb"]
    done = subprocess.run(
        [sys.executable, "-m", *words], cwd=tmp_path, env=environment(tmp_path), capture_output=True, timeout=180
    )
    assert done.returncode == 0, done.stderr.decode()
    saved = nbformat.read(tmp_path / "out.ipynb", 4)
    (shown,) = saved.cells[1].outputs
    assert set(shown.data) == {MIME, "text/html", "text/markdown", "text/plain"} and WIDGET not in shown.data
    assert shown.data[MIME]["run"]["outcome"]["stop_reason"] == "pass"
    assert saved.cells[2].outputs[0].data["text/plain"] == "'pass'"
    words = ["nbconvert", "--to", "html", "out.ipynb"]
    subprocess.run([sys.executable, "-m", *words], cwd=tmp_path, env=environment(tmp_path), check=True, timeout=180)
    page = (tmp_path / "out.html").read_text()
    assert "if not xs:" in page and "return 0.0" in page, "the diff of the two drafts"


def test_an_error_stops_the_execution_of_a_notebook(tmp_path: Path) -> None:
    cells = ["%load_ext reflect_lab", f"%%reflect --model scripted:none.jsonl\n{SEA}", "open('reached', 'w')"]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    nbformat.write(notebook, tmp_path / "in.ipynb")
    words = ["nbconvert", "--to", "notebook", "--execute", "in.ipynb"]
    done = subprocess.run(
        [sys.executable, "-m", *words],
        cwd=tmp_path,
        env=environment(tmp_path),
        capture_output=True,
        text=True,
        timeout=180,
    )
    assert done.returncode != 0 and "none.jsonl" in done.stderr
    assert not (tmp_path / "reached").exists()


def test_a_terminal_shows_the_run_as_text(tmp_path: Path) -> None:
    lines = [
        "%load_ext reflect_lab",
        "%reflect tour",
        "%%reflect --model scripted:tour --out r",
        *SEA.splitlines(),
        "",
        "",
    ]
    lines += [
        "print('then', r.outcome.stop_reason)",
        "%%time",
        "%%reflect --model scripted:tour",
        *SEA.splitlines(),
        "",
        "",
    ]
    lines += ["%%reflect --modle x", "Describe.", "", "", "exit()", "y"]
    done = subprocess.run(
        TERMINAL,
        cwd=tmp_path,
        env=environment(tmp_path, TERM="dumb"),
        input="\n".join(lines) + "\n",
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.stdout.count("Accepted on the evidence shown [pass, accepted]") == 3, done.stdout + done.stderr
    assert "Decision. Ordinary code decides" in done.stdout
    assert "then pass" in done.stdout
    assert "there is no option --modle; did you mean --model?" in done.stdout + done.stderr
    for word in ("Traceback", "Error in atexit", "Exception ignored", "never awaited"):
        assert word not in done.stdout + done.stderr
    assert len(rl.open_traces(tmp_path / "traces").runs().rows) == 3


def test_an_interrupt_in_a_terminal_ends_the_run_and_the_next_cell_works(tmp_path: Path) -> None:
    cell = ["%%reflect --out r", *SEA.splitlines(), "", ""]
    with OpenAITestServer(Reply(BLUE), Hang(), Reply(BLUE), Reply(critique())) as server:
        env = environment(tmp_path, TERM="dumb", OPENAI_BASE_URL=server.url, OPENAI_MODEL="m")
        process = subprocess.Popen(
            TERMINAL,
            cwd=tmp_path,
            env=env,
            text=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
        )
        assert process.stdin is not None
        try:
            process.stdin.write("\n".join(["%load_ext reflect_lab", *cell]) + "\n")
            process.stdin.flush()
            server.await_requests(2, 60)
            process.send_signal(signal.SIGINT)
            server.hang_up()
            more = [
                "print('kept', r.outcome.stop_reason)",
                *cell,
                "print('then', r.outcome.stop_reason)",
                "exit()",
                "y",
            ]
            said, _ = process.communicate("\n".join(more) + "\n", timeout=60)
        finally:
            process.kill()
    assert "Cancelled [cancelled, stopped]" in said and "kept cancelled" in said, said
    assert "then pass" in said and "Traceback" not in said


@pytest.mark.embedded
def test_the_embedded_model_ends_with_the_terminal_and_says_nothing(tmp_path: Path) -> None:
    if reason := embedded.why_missing():
        missing("embedded", reason)
    cell = ["%%reflect --model local --budget-calls 1 --max-revisions 0", "Say hi.", "", ""]
    children = "print('CHILDREN', *[c.pid for c in __import__('psutil').Process().children(recursive=True)])"
    done = subprocess.run(
        TERMINAL,
        cwd=tmp_path,
        env=environment(tmp_path, TERM="dumb"),
        input="\n".join(["%load_ext reflect_lab", *cell, children, "exit()", "y"]) + "\n",
        capture_output=True,
        text=True,
        timeout=120,
    )
    (line,) = [line for line in done.stdout.splitlines() if "CHILDREN" in line]
    pids = [int(word) for word in line.partition("CHILDREN")[2].split()]
    assert pids, "the model's server is a process of its own"
    alive = [psutil.Process(pid) for pid in pids if psutil.pid_exists(pid)]
    assert all_gone(alive, 3.0)
    assert "no_signal" in done.stdout, done.stdout
    assert done.stderr == "" and "Traceback" not in done.stdout


SEEN_LATER = """
import reflect_lab as rl
traces = rl.open_traces('traces')
print(traces.sql('select name, status, rounds, calls, input_tokens, output_tokens from runs').rows)
print(traces.sql('select text from drafts').rows)
print(traces.sql('select role, status from calls').rows)
print(traces.run('last').outcome)
"""


def test_a_kernel_that_is_killed_between_paid_calls_loses_nothing_paid_for(tmp_path: Path) -> None:
    with (
        OpenAITestServer(Reply(BLUE), Hang()) as server,
        kernel(tmp_path, OPENAI_BASE_URL=server.url, OPENAI_MODEL="m") as doomed,
    ):
        doomed.good("%load_ext reflect_lab")
        doomed.start(f"%%reflect --name doomed\n{SEA}")
        server.await_requests(2, 60)
        running = rl.open_traces(tmp_path / "traces").sql("select status from runs").rows
        doomed.manager.signal_kernel(signal.SIGKILL)
        doomed.manager.provisioner.process.wait(10)
        sent = server.tokens_sent
    env = environment(tmp_path)
    seen = subprocess.run([sys.executable, "-c", SEEN_LATER], cwd=tmp_path, env=env, capture_output=True, text=True)
    assert running == (("running",),)
    assert seen.stdout.splitlines() == [
        f"(('doomed', 'interrupted', 1, 1, {sent[0]}, {sent[1]}),)",
        f"(({BLUE!r},),)",
        "(('generator', 'ok'),)",
        "None",
    ], seen.stderr
