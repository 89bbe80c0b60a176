"""What `%reflect replay` and `%reflect fork` read from their line."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from reflect_lab.core.replay import replay
from reflect_lab.core.run import Run
from reflect_lab.documents.render_replay import replay_text
from reflect_lab.notebook.magic_line import add_result_options
from reflect_lab.options import (
    OptionParser,
    RunOptions,
    add_policy_options,
    add_run_options,
    resolve_policy,
    run_options,
)
from reflect_lab.session import Session


def replayed(session: Session, words: list[str]) -> str:
    """`RUN --policy NAME …`: the recorded run beside what the policy would have decided. Raises WrongUse."""
    parser = OptionParser(prog="%reflect replay", add_help=False)
    parser.add_argument("run", metavar="RUN")
    add_policy_options(parser, parser.add_argument_group("more"))
    parser.add_argument("--traces", metavar="DIR", help="folder of the traces")
    parsed = parser.parse_args(words)
    run = session.open_traces(parsed.traces).run(parsed.run)
    options = run_options(parsed)
    policy = resolve_policy(replace(options, policy=options.policy or run.policy), session.cwd)
    return replay_text(run, replay(run, policy))


@dataclass(frozen=True)
class ForkWords:
    """A fork that was asked for: of which run, from which round, with which changes."""

    run: Run
    at: int
    options: RunOptions
    parsed: Any

    @classmethod
    def read(cls, session: Session, words: list[str]) -> ForkWords:
        """`RUN --at N` and the options of a run. Raises WrongUse."""
        parser = OptionParser(prog="%reflect fork", add_help=False)
        parser.add_argument("run", metavar="RUN")
        parser.add_argument("--at", type=int, required=True, metavar="N", help="the round from which to go on")
        add_run_options(parser)
        add_result_options(parser)
        parsed = parser.parse_args(words)
        return cls(session.open_traces(parsed.traces).run(parsed.run), parsed.at, run_options(parsed), parsed)
