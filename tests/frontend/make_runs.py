"""Write `tests/fixtures/runs/*.json`: runs for looking at and testing the view, built of the core's own dataclasses.

python -m tests.frontend.make_runs
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from reflect_lab.core.run import (
    Notice,
    Outcome,
    Run,
    RunError,
    Usage,
)
from reflect_lab.documents.run_document import dump_run
from tests.frontend.accepted_run import MEAN_0, accepted
from tests.frontend.hostile_run import hostile
from tests.frontend.stalled_run import stalled

FOLDER = Path(__file__).resolve().parent.parent / "fixtures" / "runs"


def cancelled() -> Run:
    """Interrupted while the critic was asked: the round has no critique and no decision."""
    whole = accepted()
    first = replace(whole.rounds[0], critique=None, feedback=None, decision=None)
    return replace(
        whole,
        run_id="01K5CANCELLED000000000MEAN",
        rounds=(replace(first, usage=Usage(calls=2, input_tokens=None, output_tokens=None, seconds=31.2)),),
        outcome=Outcome(
            status="stopped",
            stop_reason="cancelled",
            draft_index=0,
            draft=MEAN_0,
            open_blocking=(),
            message="Interrupted by the user while the critic was asked; the best draft so far is draft 0.",
        ),
        usage=Usage(calls=2, input_tokens=None, output_tokens=None, seconds=31.2),
        ledger=(
            whole.ledger[0],
            replace(
                whole.ledger[1],
                status="cancelled",
                input_tokens=None,
                output_tokens=None,
                cost_uncertain=True,
                seconds=29.9,
                finish_reason=None,
            ),
        ),
    )


def failed() -> Run:
    """The provider refused the very first call: no draft, no round; the recording failed too."""
    whole = accepted()
    message = "The server at 127.0.0.1:8080 answered 401: the key was refused. Check OPENAI_API_KEY."
    return replace(
        whole,
        run_id="01K5ERROR0000000000000MEAN",
        rounds=(),
        outcome=Outcome(
            status="stopped",
            stop_reason="error",
            message=message,
            error=RunError(kind="provider_refused", message=message),
            recorded=False,
        ),
        usage=Usage(calls=1, input_tokens=0, output_tokens=0, seconds=0.21),
        ledger=(replace(whole.ledger[0], status="failed", error="401", input_tokens=0, output_tokens=0, seconds=0.21),),
        notices=(Notice(kind="unrecorded", message="traces/log is not writable: nothing of this run was recorded."),),
    )


RUNS = {
    "accepted": accepted,
    "stalled": stalled,
    "cancelled": cancelled,
    "error": failed,
    "hostile": hostile,
}


def render(name: str) -> str:
    """The text of one fixture file."""
    return json.dumps(dump_run(RUNS[name]()), indent=1, ensure_ascii=True) + "\n"


def main() -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name in RUNS:
        (FOLDER / f"{name}.json").write_text(render(name), encoding="ascii")


if __name__ == "__main__":
    main()
