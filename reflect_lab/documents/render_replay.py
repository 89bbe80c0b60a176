"""A replay beside the record as plain text: what was decided after each round, and what another policy would say."""

from __future__ import annotations

from itertools import zip_longest

from reflect_lab.core.replay import Replay
from reflect_lab.core.run import Round, Run
from reflect_lab.documents.visible import visible_line

WIDTH = 52
"""Characters of one column."""


def replay_text(recorded: Run, replay: Replay) -> str:
    """Round by round, then the end; what the record can't say is called unknown."""
    policy = replay.run.policy
    lines = [
        f"Run {recorded.run_id} replayed at zero calls under policy {visible_line(policy.profile, 40)} "
        f"{policy.sha256[:12]}",
        _line("round", "as recorded", "under this policy"),
    ]
    for old, new in zip_longest(recorded.rounds, replay.run.rounds):
        index = (old or new).index
        lines.append(_line(str(index), *(_decided(one) for one in (old, new))))
    lines.append(_line("end", _end(recorded), _end(replay.run) if replay.unknown is None else "unknown"))
    if replay.unknown is not None:
        lines.append(f"Unknown, because {visible_line(replay.unknown, 200)}: the record ends there.")
    return "\n".join(lines) + "\n"


def _decided(round_: Round | None) -> str:
    if round_ is None or round_.decision is None:
        return "-"
    return f"{round_.decision.action}: {round_.decision.message}"


def _end(run: Run) -> str:
    if run.outcome is None:
        return "not ended"
    returned = "no draft" if run.outcome.draft_index is None else f"draft {run.outcome.draft_index}"
    reason = run.outcome.budget_dimension or run.outcome.stop_reason
    return f"{run.outcome.status} ({reason}), returns {returned}"


def _line(first: str, *columns: str) -> str:
    cells = [visible_line(column, WIDTH) for column in columns]
    return f"{first:<6} " + "  ".join(f"{cell:<{WIDTH}}" for cell in cells).rstrip()
