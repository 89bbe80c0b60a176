"""The relations that people query: every column with its type, unit and meaning. The one definition: tables, bulk
loads and `docs/relations.md` are made from it.

Times are UTC without a zone, durations are seconds, costs are in the row's `currency`. NULL means "unknown" (usage)
or "there is none"; it is never zero.
"""

from __future__ import annotations

from dataclasses import dataclass

TEXT = "VARCHAR"
INT = "BIGINT"
REAL = "DOUBLE"
BOOL = "BOOLEAN"
TIME = "TIMESTAMP"
TEXTS = "VARCHAR[]"
MAP = "MAP(VARCHAR, VARCHAR)"


@dataclass(frozen=True)
class Column:
    """`is_content`: the text is stored once by its hash, which is what the table behind the view holds. `attribute` is
    the span attribute that the column is filled from."""

    name: str
    type: str
    meaning: str
    is_content: bool = False
    attribute: str | None = None


@dataclass(frozen=True)
class Relation:
    name: str
    meaning: str
    key: tuple[str, ...]
    columns: tuple[Column, ...]


def _usage(of: str) -> tuple[Column, ...]:
    return (
        Column("input_tokens", INT, f"tokens: prompt of {of}, cached ones included; NULL: unknown"),
        Column("cached_tokens", INT, "tokens: the part of input_tokens served from a cache; NULL: unknown"),
        Column("output_tokens", INT, f"tokens: answers of {of}, reasoning included; NULL: unknown"),
        Column("reasoning_tokens", INT, "tokens: the part of output_tokens spent on reasoning; NULL: unknown"),
        Column("seconds", REAL, "seconds of active work (calls and checks), waiting for people left out"),
        Column("cost", REAL, "in `currency`; NULL: unknown"),
        Column("currency", TEXT, "ISO 4217 code; NULL: cost unknown"),
    )


def _attribute(name: str, kind: str, attribute: str, unit: str = "") -> Column:
    return Column(name, kind, f"{unit}`{attribute}`", attribute=attribute)


_RUN = Column("run_id", TEXT, "the run (ULID)")
_ROUND = Column("round", INT, "round, counted from 0; round 0 is the first draft")

RUNS = Relation(
    "runs",
    "One row for each run.",
    ("run_id",),
    (
        _RUN,
        Column("name", TEXT, "the name that the user gave"),
        Column("started_at", TIME, "UTC"),
        Column("ended_at", TIME, "UTC; NULL: not ended (yet)"),
        Column("status", TEXT, "`running`, `interrupted`, `accepted`, `escalated` or `stopped`"),
        Column("stop_reason", TEXT, "why the loop ended (`pass`, `stalled`, `budget`, …); NULL: it did not"),
        Column("budget_dimension", TEXT, "the limit that ended the run, the policy's key"),
        Column("message", TEXT, "the stop in words, with its numbers"),
        Column("error_kind", TEXT, "kind of error where stop_reason is `error`"),
        Column("rounds", INT, "number of rounds: revisions + 1"),
        Column("draft_index", INT, "index of the returned draft"),
        Column("open_blocking", INT, "blocking issues of the returned draft"),
        Column("preset", TEXT, "preset of the run"),
        Column("policy_profile", TEXT, "profile of the policy"),
        Column("policy_sha256", TEXT, "hash of the policy's content"),
        Column("task_name", TEXT, "the task's own name"),
        Column("task_sha256", TEXT, "hash of the task's content: the same task has the same hash"),
        Column("task", TEXT, "the task's text", True),
        Column("generator_model", TEXT, "model that was asked for drafts"),
        Column("generator_answered", TEXT, "model that answered"),
        Column("generator_prompt_sha256", TEXT, "version of the generator's prompt"),
        Column("critic_model", TEXT, "model that was asked for critiques"),
        Column("critic_answered", TEXT, "model that answered"),
        Column("critic_prompt_sha256", TEXT, "version of the critic's prompt"),
        Column("calls", INT, "logical model calls (attempts are rows of `calls`)"),
        *_usage("all calls"),
        Column("total_tokens", INT, "tokens: input + output; NULL: unknown"),
        Column("recorded", BOOL, "false: some part of the record could not be written or read"),
        Column("parent_run", TEXT, "the run that this one continues"),
        Column("log_file", TEXT, "file of the event log, in the folder `log`"),
        Column("events", INT, "events of the core that the log holds for the run"),
        Column("attributes", MAP, "the rest: `tag.*`, `version.*`, `endpoint.*`, `notice.*`"),
    ),
)

ROUNDS = Relation(
    "rounds",
    "One row for each round: a draft, what was found out about it, and the decision.",
    ("run_id", "round"),
    (
        _RUN,
        _ROUND,
        Column("draft_index", INT, "index of the round's draft"),
        Column("draft_sha256", TEXT, "hash of the draft's text"),
        Column("mode", TEXT, "how the draft came about: `first`, `patch`, `rewrite`, `fixed`, `edited`"),
        Column("score", REAL, "0..1; NULL: unknown"),
        Column("score_kind", TEXT, "`critic` or `checks`; scores of two kinds are never compared"),
        Column("validity", TEXT, "of the critique: `ok`, `refused`, `truncated`, `invalid`, …, `not_asked`"),
        Column("blocking", INT, "kept issues of severity blocking; NULL: no critique"),
        Column("major", INT, "kept issues of severity major"),
        Column("minor", INT, "kept issues of severity minor"),
        Column("discarded", INT, "issues that the critic raised without ground"),
        Column("repairs", INT, "repair requests that an unreadable critique cost"),
        Column("checks", INT, "pieces of evidence; NULL: none gathered"),
        Column("failed_checks", INT, "pieces of evidence with status `failed`"),
        Column("unchecked", INT, "pieces of evidence with status `not_run` or `error`"),
        Column("action", TEXT, "`revise` or `stop`; NULL: not decided"),
        Column("reason", TEXT, "why"),
        Column("feedback_mode", TEXT, "`patch` or `rewrite`; NULL: no feedback"),
        Column("feedback_sent", INT, "issues sent to the generator"),
        Column("feedback_withheld", INT, "issues held back by the cap"),
        Column("calls", INT, "logical model calls of the round"),
        *_usage("the round's calls"),
        Column("generator_input_tokens", INT, "tokens: input of the generator's calls"),
        Column("generator_output_tokens", INT, "tokens: output of the generator's calls"),
        Column("critic_input_tokens", INT, "tokens: input of the critic's calls"),
        Column("critic_output_tokens", INT, "tokens: output of the critic's calls"),
    ),
)

DRAFTS = Relation(
    "drafts",
    "One row for each draft.",
    ("run_id", "draft_index"),
    (
        _RUN,
        Column("draft_index", INT, "counted from 0"),
        _ROUND,
        Column("sha256", TEXT, "hash of the text"),
        Column("mode", TEXT, "`first`, `patch`, `rewrite`, `fixed` or `edited`"),
        Column("parent", INT, "index of the draft that this one revises"),
        Column("extraction", TEXT, "the rule by which the draft was taken from the reply"),
        Column("truncated", BOOL, "whether the answer was cut off"),
        Column("refused", BOOL, "whether the model refused to answer"),
        Column("chars", INT, "length in Unicode code points"),
        Column("lines", INT, "number of lines"),
        Column("is_returned", BOOL, "whether the run returned this draft"),
        Column("text", TEXT, "the draft", True),
    ),
)

_LEVEL = (
    "0 off, 1 process limits, 2 kernel-confined, 3 namespaced; NULL: W or X, which have no place in this order "
    "(`sandbox` says which), or no code ran"
)

EVIDENCE = Relation(
    "evidence",
    "One row for each piece of evidence: what one check reported on one draft.",
    ("run_id", "round", "source"),
    (
        _RUN,
        _ROUND,
        Column("source", TEXT, "name of the check"),
        Column("kind", TEXT, "kind of check"),
        Column("rank", TEXT, "`deterministic`, `executed`, `retrieval`, `human` or `model`"),
        Column("status", TEXT, "`passed`, `failed`, `error`, `denied` or `not_run`"),
        Column("gate", BOOL, "whether a failure spares the critic's call"),
        Column("findings", INT, "findings reported"),
        Column("failed_findings", INT, "findings with status `failed`"),
        Column("requirements", TEXTS, "ids of the requirements that the check covers"),
        Column("sandbox_level", INT, _LEVEL),
        Column("sandbox", TEXT, "name of the sandbox"),
        Column("verdict_integrity", TEXT, "`split` or `in_process` (code under test could forge it)"),
        Column("executions", INT, "tool calls, retries included"),
        Column("seconds", REAL, "seconds of wall time"),
        Column("text", TEXT, "the report", True),
        Column("attributes", MAP, "provenance: hashes, interpreter, versions"),
    ),
)

ISSUES = Relation(
    "issues",
    "One row for each issue that a critic or a check raised, discarded ones with the reason.",
    (),
    (
        _RUN,
        _ROUND,
        Column("key", TEXT, "carries the issue across rounds; NULL: discarded"),
        Column("id", TEXT, "the critic's label, or the check's `name` or `name/finding`"),
        Column("source", TEXT, "`critic` or the check's name"),
        Column("severity", TEXT, "`blocking`, `major` or `minor`"),
        Column("is_kept", BOOL, "false: no ground was found, the issue changed nothing"),
        Column("discard_reason", TEXT, "why it was discarded"),
        Column("requirement", TEXT, "id of the requirement that it names"),
        Column("ground", TEXT, "`requirement`, `task`, `fact`, `evidence`, `absent` or `draft`"),
        Column("ground_source", TEXT, "`task`, `R3`, `fact:2`, `evidence:NAME`"),
        Column("ground_start", INT, "code point in that source where the quote starts"),
        Column("ground_end", INT, "code point after the quote"),
        Column("location_kind", TEXT, "`line`, `lines`, `path`, `quote`, …"),
        Column("location", TEXT, "the place in the draft"),
        Column("is_sent", BOOL, "whether the generator was sent this issue"),
        Column("evidence", TEXT, "the quote"),
        Column("suggestion", TEXT, "what to change"),
    ),
)

CALLS = Relation(
    "calls",
    "One row for each attempt of each model call: the ledger.",
    ("run_id", "call", "attempt"),
    (
        _RUN,
        Column("call", INT, "logical call of the run, counted from 1"),
        Column("attempt", INT, "attempt within the call, counted from 1"),
        _ROUND,
        Column("role", TEXT, "`generator`, `critic` or `evidence`"),
        Column("model", TEXT, "model asked for"),
        Column("answered", TEXT, "model that answered"),
        Column("status", TEXT, "`ok`, `retried`, `refused`, `failed`, `cancelled` or `cached`"),
        Column("error", TEXT, "what went wrong"),
        Column("finish_reason", TEXT, "why the answer ended; NULL: not said"),
        *_usage("the attempt"),
        Column("reserved_tokens", INT, "tokens set aside before the call"),
        Column("cost_uncertain", BOOL, "the provider may have charged for usage that never arrived"),
        Column("protocol", TEXT, "how structure was asked for: `schema`, `json`, `lines`"),
        Column("dropped_params", TEXTS, "parameters that the server refused"),
    ),
)

DECISIONS = Relation(
    "decisions",
    "One row for each decision of the controller.",
    ("run_id", "round"),
    (
        _RUN,
        _ROUND,
        Column("action", TEXT, "`revise` or `stop`"),
        Column("reason", TEXT, "the rule that applied"),
        Column("message", TEXT, "the same in words"),
        Column("budget_dimension", TEXT, "the limit that was reached"),
        Column("numbers", MAP, "the numbers that caused it"),
    ),
)

LABELS = Relation(
    "labels",
    "What is true of a draft or an issue, said after the run by a reference, an oracle or a person.",
    (),
    (
        _RUN,
        Column("draft_sha256", TEXT, "the draft that is labelled"),
        Column("issue_key", TEXT, "the issue that is labelled; NULL: the label is about the draft"),
        Column("label", TEXT, "`right`, `wrong`, `real`, `not_real`"),
        Column("source", TEXT, "`reference`, `oracle` or `human`"),
        Column("labeller", TEXT, "who said it"),
        Column("time", TIME, "UTC"),
        Column("note", TEXT, "free words"),
    ),
)

SPANS = Relation(
    "spans",
    "One row for each OpenTelemetry span. Token columns are filled on model calls only, so that sums never double.",
    ("trace_id", "span_id"),
    (
        Column("trace_id", TEXT, "32 hex digits"),
        Column("span_id", TEXT, "16 hex digits"),
        Column("parent_span_id", TEXT, "NULL: a root; the parent itself may be missing (orphan)"),
        _attribute("run_id", TEXT, "reflect.run.id"),
        Column("name", TEXT, "span name"),
        Column("kind", TEXT, "`internal`, `server`, `client`, `producer` or `consumer`"),
        Column("started_at", TIME, "UTC"),
        Column("ended_at", TIME, "UTC"),
        Column("seconds", REAL, "seconds between the two"),
        Column("status", TEXT, "`unset`, `ok` or `error`"),
        _attribute("error_type", TEXT, "error.type"),
        _attribute("operation", TEXT, "gen_ai.operation.name"),
        _attribute("role", TEXT, "reflect.role"),
        _attribute("round", INT, "reflect.round.index"),
        _attribute("draft_index", INT, "reflect.draft.index"),
        _attribute("draft_sha256", TEXT, "reflect.draft.sha256"),
        _attribute("model", TEXT, "gen_ai.request.model"),
        _attribute("answered", TEXT, "gen_ai.response.model"),
        _attribute("input_tokens", INT, "gen_ai.usage.input_tokens", "tokens: "),
        _attribute("output_tokens", INT, "gen_ai.usage.output_tokens", "tokens: "),
        _attribute("check_name", TEXT, "reflect.check.name"),
        _attribute("check_status", TEXT, "reflect.check.status"),
        _attribute("stop_reason", TEXT, "reflect.stop.reason"),
        Column("events", TEXT, "span events as JSON"),
        Column("links", TEXT, "links as JSON"),
        Column("span_file", TEXT, "file in the folder `spans`"),
        Column("attributes", MAP, "all attributes and those of the resource (`resource.*`)"),
    ),
)

RELATIONS = (RUNS, ROUNDS, DRAFTS, EVIDENCE, ISSUES, CALLS, DECISIONS, LABELS, SPANS)


def markdown() -> str:
    """The reference page of all relations."""
    parts = [
        "# Relations\n",
        "What `reflect-lab traces sql`, `%reflect sql` and `rl.open_traces(folder).sql(...)` can query. The index",
        "(`reflect.duckdb` in the traces folder) is made from the event log and the span files; it can be deleted at",
        "any time and is rebuilt on the next use.\n",
        "Times are UTC, durations are seconds, costs are in the row's `currency`. NULL means unknown (usage) or that",
        "there is none; it is never zero.\n",
    ]
    for relation in RELATIONS:
        parts.append(f"## {relation.name}\n\n{relation.meaning}")
        if relation.key:
            parts.append(f"Key: {', '.join(f'`{name}`' for name in relation.key)}.")
        parts.append("\n| column | type | meaning |\n|---|---|---|")
        parts += [f"| `{c.name}` | {c.type} | {c.meaning} |" for c in relation.columns]
        parts.append("")
    return "\n".join(parts)
