"""A stored run as rows of the relations. Large texts become `content` rows, stored once by hash."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from reflect_lab.core.budget import own_usage, usage
from reflect_lab.core.critique import Critique, Discarded, Issue
from reflect_lab.core.evidence import Evidence, Location
from reflect_lab.core.run import Draft, LedgerRow, Round, Run, Usage
from reflect_lab.core.task import text_sha256
from reflect_lab.store.reader import StoredRun

Row = dict[str, Any]

_LARGEST = 2**63 - 1


@dataclass
class Rows:
    """Rows by relation, and texts by hash."""

    relations: dict[str, list[Row]] = field(default_factory=dict)
    contents: dict[str, str] = field(default_factory=dict)

    def add(self, relation: str, rows: Sequence[Row]) -> None:
        self.relations.setdefault(relation, []).extend(database_value(row) for row in rows)

    def keep(self, text: str) -> str:
        """The hash under which a text is stored."""
        text = database_text(text)
        sha256 = text_sha256(text)
        self.contents[sha256] = text
        return sha256


def database_text(text: str) -> str:
    """A text that the database takes: lone surrogates are shown by their escapes. The log keeps them as they are."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def database_value(value: Any) -> Any:
    """Plain values that the database takes. A number that is not finite or beyond 64 bits is unknown: the one would
    poison every sum, the other (a server may claim any count of tokens) the whole index."""
    if isinstance(value, str):
        return database_text(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, int):
        return value if abs(value) <= _LARGEST else None
    if isinstance(value, Mapping):
        return {database_text(key): database_value(item) for key, item in value.items()}
    return [database_value(item) for item in value] if isinstance(value, list) else value


def add_run(rows: Rows, stored: StoredRun) -> None:
    """Everything that the relations hold of one run."""
    run = stored.run
    rows.add("runs", [_run(rows, stored)])
    for one in run.rounds:
        key = {"run_id": run.run_id, "round": one.index}
        rows.add("rounds", [{**key, **_round(run, one)}])
        drafts = (one.draft, *(other.draft for other in one.others))
        rows.add("drafts", [{**key, **_draft(rows, run, draft)} for draft in drafts])
        rows.add("evidence", [{**key, **_evidence(rows, piece)} for piece in one.evidence or ()])
        if one.critique is not None:
            sent = set(one.feedback.sent) if one.feedback else set()
            rows.add("issues", [{**key, **_issue(issue, sent)} for issue in one.critique.issues])
            rows.add("issues", [{**key, **_discarded(issue)} for issue in one.critique.discarded])
        if one.decision is not None:
            decision = one.decision
            rows.add("decisions", [{
                **key, "action": decision.action, "reason": decision.reason, "message": decision.message,
                "budget_dimension": decision.budget_dimension, "numbers": _texts(decision.numbers),
            }])  # fmt: skip
    rows.add("calls", [_call(run, row) for row in run.ledger if row.paid_by is None])


def _run(rows: Rows, stored: StoredRun) -> Row:
    run, outcome = stored.run, stored.run.outcome
    generator, critic = run.models.get("generator"), run.models.get("critic")
    prompts = run.prompts
    used = own_usage(run)
    tokens = (used.input_tokens, used.output_tokens)
    return {
        "run_id": run.run_id,
        "name": run.name,
        "started_at": _time(_started(stored)),
        "ended_at": _time(stored.ended_at),
        "status": stored.status,
        "stop_reason": outcome.stop_reason if outcome else None,
        "budget_dimension": outcome.budget_dimension if outcome else None,
        "message": outcome.message if outcome else None,
        "error_kind": outcome.error.kind if outcome and outcome.error else None,
        "rounds": len(run.rounds),
        "draft_index": outcome.draft_index if outcome else None,
        "open_blocking": len(outcome.open_blocking) if outcome else None,
        "preset": run.preset,
        "policy_profile": run.policy.profile,
        "policy_sha256": run.policy.sha256,
        "task_name": run.task.name,
        "task_sha256": run.task.sha256,
        "task": rows.keep(run.task.text),
        "generator_model": generator.requested if generator else None,
        "generator_answered": generator.answered if generator else None,
        "generator_prompt_sha256": prompts["generator"].sha256 if "generator" in prompts else None,
        "critic_model": critic.requested if critic else None,
        "critic_answered": critic.answered if critic else None,
        "critic_prompt_sha256": prompts["critic"].sha256 if "critic" in prompts else None,
        "calls": used.calls,
        **_usage(used),
        "total_tokens": None if tokens[0] is None or tokens[1] is None else tokens[0] + tokens[1],
        "recorded": outcome.recorded if outcome else not stored.problems,
        "parent_run": run.parent_run,
        "log_file": stored.log_file.name,
        "events": len(stored.events),
        "attributes": _attributes(run),
    }


def _started(stored: StoredRun) -> datetime:
    """When the run says that it started, else when its first line was written."""
    if stored.run.started_at:
        try:
            said = datetime.fromisoformat(stored.run.started_at)
        except ValueError:
            return stored.started_at
        return said.astimezone(UTC).replace(tzinfo=None) if said.tzinfo else said
    return stored.started_at


def _attributes(run: Run) -> Row:
    return {
        **{f"tag.{name}": value for name, value in run.tags.items()},
        **{f"version.{name}": value for name, value in run.versions.items()},
        **{f"endpoint.{role}": model.endpoint for role, model in run.models.items() if model.endpoint},
        **{f"notice.{notice.kind}": notice.message for notice in run.notices},
    }


def _round(run: Run, one: Round) -> Row:
    critique, feedback, decision = one.critique, one.feedback, one.decision
    ledger = [row for row in run.ledger if row.round == one.index and row.paid_by is None]
    generator = usage([row for row in ledger if row.role == "generator"])
    critic = usage([row for row in ledger if row.role == "critic"])
    statuses = None if one.evidence is None else [piece.status for piece in one.evidence]
    return {
        "draft_index": one.draft.index,
        "draft_sha256": one.draft.sha256,
        "mode": one.draft.mode,
        **_judgement(critique),
        "checks": None if statuses is None else len(statuses),
        "failed_checks": None if statuses is None else statuses.count("failed"),
        "unchecked": None if statuses is None else statuses.count("not_run") + statuses.count("error"),
        "action": decision.action if decision else None,
        "reason": decision.reason if decision else None,
        "feedback_mode": feedback.mode if feedback else None,
        "feedback_sent": len(feedback.sent) if feedback else None,
        "feedback_withheld": len(feedback.withheld) if feedback else None,
        "calls": one.usage.calls,
        **_usage(one.usage),
        "generator_input_tokens": generator.input_tokens,
        "generator_output_tokens": generator.output_tokens,
        "critic_input_tokens": critic.input_tokens,
        "critic_output_tokens": critic.output_tokens,
    }


def _judgement(critique: Critique | None) -> Row:
    if critique is None:
        return {}
    severities = [issue.severity for issue in critique.issues]
    return {
        "score": critique.score,
        "score_kind": critique.score_kind,
        "validity": critique.validity,
        "blocking": severities.count("blocking"),
        "major": severities.count("major"),
        "minor": severities.count("minor"),
        "discarded": len(critique.discarded),
        "repairs": critique.repairs,
    }


def _draft(rows: Rows, run: Run, draft: Draft) -> Row:
    return {
        "draft_index": draft.index,
        "sha256": draft.sha256,
        "mode": draft.mode,
        "parent": draft.parent,
        "extraction": draft.extraction,
        "truncated": draft.truncated,
        "refused": draft.refused is not None,
        "chars": len(draft.text),
        "lines": len(draft.text.splitlines()),
        "is_returned": run.outcome is not None and run.outcome.draft_index == draft.index,
        "text": rows.keep(draft.text),
    }


def _evidence(rows: Rows, piece: Evidence) -> Row:
    sandbox = piece.sandbox
    return {
        "source": piece.source,
        "kind": piece.kind,
        "rank": piece.rank,
        "status": piece.status,
        "gate": piece.gate,
        "findings": len(piece.findings),
        "failed_findings": len(piece.failed_findings),
        "requirements": list(piece.requirements),
        "sandbox_level": sandbox.number if sandbox else None,
        "sandbox": sandbox.name if sandbox else None,
        "verdict_integrity": sandbox.verdict_integrity if sandbox else None,
        "executions": piece.executions,
        "seconds": piece.seconds,
        "text": rows.keep(piece.text),
        "attributes": _texts(piece.provenance),
    }


def _issue(issue: Issue, sent: set[str]) -> Row:
    ground = issue.ground
    return {
        "key": issue.key,
        "id": issue.id,
        "source": issue.source,
        "severity": issue.severity,
        "is_kept": True,
        "requirement": issue.requirement,
        "ground": ground.kind if ground else None,
        "ground_source": ground.source if ground else None,
        "ground_start": ground.start if ground else None,
        "ground_end": ground.end if ground else None,
        **_location(issue.location),
        "is_sent": issue.id in sent,
        "evidence": issue.evidence,
        "suggestion": issue.suggestion,
    }


def _discarded(issue: Discarded) -> Row:
    return {
        "id": issue.id,
        "source": "critic",
        "severity": issue.severity,
        "is_kept": False,
        "discard_reason": issue.reason,
        "requirement": issue.requirement,
        **_location(issue.location),
        "is_sent": False,
        "evidence": issue.evidence,
        "suggestion": issue.suggestion,
    }


def _location(location: Location | None) -> Row:
    return {"location_kind": location.kind, "location": location.value} if location else {}


def _call(run: Run, row: LedgerRow) -> Row:
    names = (
        "call", "attempt", "round", "role", "model", "answered", "status", "error", "finish_reason", "input_tokens",
        "cached_tokens", "output_tokens", "reasoning_tokens", "seconds", "cost", "currency", "reserved_tokens",
        "cost_uncertain", "protocol",
    )  # fmt: skip
    fields = {name: getattr(row, name) for name in names}
    return {"run_id": run.run_id, **fields, "dropped_params": list(row.dropped_params)}


def _usage(used: Usage) -> Row:
    names = ("input_tokens", "cached_tokens", "output_tokens", "reasoning_tokens", "seconds", "cost", "currency")
    return {name: getattr(used, name) for name in names}


def _texts(values: Mapping[str, object]) -> Row:
    """Values of an attributes column: always text."""
    return {name: None if value is None else str(value) for name, value in values.items()}


def _time(time: datetime | None) -> str | None:
    return time.isoformat(sep=" ") if time else None
