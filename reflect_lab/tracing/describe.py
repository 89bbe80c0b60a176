"""The attributes of each kind of span, from the core's shapes. Pure: what a span says is what the events say."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any
from urllib.parse import urlsplit

from reflect_lab.core.budget import own_usage, usage
from reflect_lab.core.chat import ChatReply, ChatRequest, Message
from reflect_lab.core.critique import SEVERITIES, Critique, Discarded, Issue
from reflect_lab.core.evidence import Evidence
from reflect_lab.core.run import Decision, Draft, Feedback, LedgerRow, Run
from reflect_lab.core.task import CheckSpec
from reflect_lab.tracing import attributes as names
from reflect_lab.tracing.content import Content, Value

Values = dict[str, Value]

MAX_ISSUES = 50
"""Issues listed on a span; the counts are always whole."""

_PROVIDERS = {
    "api.openai.com": "openai",
    "api.anthropic.com": "anthropic",
    "api.mistral.ai": "mistral_ai",
    "api.deepseek.com": "deepseek",
    "api.groq.com": "groq",
    "api.x.ai": "x_ai",
    "api.perplexity.ai": "perplexity",
    "generativelanguage.googleapis.com": "gcp.gemini",
}


def run_start(run: Run, conversation: str | None) -> Values:
    """`conversation` names what runs belong together (a notebook); only its hash is shown."""
    preset = run.preset or "reflect"
    limits = {k: v for k, v in asdict(run.policy.limits).items() if isinstance(v, (int, float, str))}
    return {
        names.OPERATION_NAME: "invoke_workflow",
        names.WORKFLOW_NAME: preset,
        names.AGENT_NAME: preset,
        names.CONVERSATION_ID: hashlib.sha256((conversation or run.run_id).encode("utf-8", "replace")).hexdigest()[:32],
        names.OPENINFERENCE_KIND: "CHAIN",
        names.RUN_ID: run.run_id,
        names.RUN_NAME: run.name,
        names.SCHEMA_VERSION: run.schema,
        names.TASK_SHA256: run.task.sha256,
        names.PRESET: run.preset,
        names.POLICY_PROFILE: run.policy.profile,
        names.POLICY_SHA256: run.policy.sha256,
        **{names.BUDGET_PREFIX + key: value for key, value in limits.items()},
    }


def run_end(run: Run) -> Values:
    outcome = run.outcome
    said: Values = {names.ROUNDS: len(run.rounds)}
    said |= {names.USAGE_PREFIX + key: value for key, value in asdict(own_usage(run)).items()}
    if outcome is not None:
        said |= {
            names.OUTCOME: outcome.status,
            names.STOP_REASON: outcome.stop_reason,
            names.STOP_BUDGET_DIMENSION: outcome.budget_dimension,
            names.SELECTED_DRAFT: outcome.draft_index,
            names.OPEN_BLOCKING: len(outcome.open_blocking),
        }
    return said


def draft(one: Draft, content: Content) -> Values:
    return {
        names.DRAFT_INDEX: one.index,
        names.DRAFT_CANDIDATE: one.candidate,
        names.DRAFT_SHA256: content.sha256(one.text),
        names.DRAFT_PARENT: one.parent,
        names.DRAFT_MODE: one.mode,
        names.DRAFT_CHARS: len(one.text),
        names.DRAFT_TRUNCATED: one.truncated,
    }


def feedback(sent: Feedback | None) -> Values:
    if sent is None:
        return {}
    return {
        names.FEEDBACK_MODE: sent.mode,
        names.FEEDBACK_SENT: len(sent.sent),
        names.FEEDBACK_WITHHELD: len(sent.withheld),
    }


def gathered(evidence: Sequence[Evidence]) -> Values:
    failed = sum(piece.status == "failed" for piece in evidence)
    return {names.EVIDENCE_CHECKS: len(evidence), names.EVIDENCE_FAILED: failed}


def check(spec: CheckSpec) -> Values:
    return {
        names.OPERATION_NAME: "execute_tool",
        names.TOOL_NAME: spec.name,
        names.TOOL_TYPE: "function",
        names.OPENINFERENCE_KIND: "TOOL",
        names.ROLE: "evidence",
        names.CHECK_NAME: spec.name,
        names.CHECK_KIND: spec.kind,
        names.CHECK_GATE: spec.gate,
    }


def evidence(piece: Evidence, content: Content) -> Values:
    sandbox = piece.sandbox
    return {
        names.CHECK_STATUS: piece.status,
        names.CHECK_KIND: piece.kind,
        names.CHECK_RANK: piece.rank,
        names.CHECK_GATE: piece.gate,
        names.CHECK_FINDINGS: len(piece.findings),
        names.CHECK_FAILED_FINDINGS: len(piece.failed_findings),
        names.CHECK_EXECUTIONS: piece.executions,
        names.EVIDENCE_SHA256: content.sha256(piece.text),
        names.SANDBOX_LEVEL: sandbox.number if sandbox else None,
        names.SANDBOX_NAME: sandbox.name if sandbox else None,
        names.SANDBOX_ABI: sandbox.abi if sandbox else None,
        names.VERDICT_INTEGRITY: sandbox.verdict_integrity if sandbox else None,
    }


def critique(one: Critique, content: Content) -> Values:
    listed: list[Issue | Discarded] = [*one.issues, *one.discarded]
    counts = {severity: sum(i.severity == severity for i in one.issues) for severity in SEVERITIES}
    return {
        names.CRITIQUE_VALIDITY: one.validity,
        names.CRITIQUE_SCORE: one.score,
        names.CRITIQUE_SCORE_KIND: one.score_kind,
        names.CRITIQUE_REPAIRS: one.repairs,
        names.ISSUES_PREFIX + "total": len(one.issues),
        names.ISSUES_PREFIX + "discarded": len(one.discarded),
        **{names.ISSUES_PREFIX + severity: count for severity, count in counts.items()},
        names.ISSUES: content.json([_issue(issue, content) for issue in listed[:MAX_ISSUES]]),
    }


def _issue(issue: Issue | Discarded, content: Content) -> dict[str, Any]:
    said: dict[str, Any] = {
        "id": content.identifier(issue.id),
        "severity": issue.severity,
        "supported": isinstance(issue, Issue),
        "source": issue.source if isinstance(issue, Issue) else "critic",
    }
    if isinstance(issue, Issue):
        ground = issue.ground
        said["key"] = content.identifier(issue.key)
        said["ground"] = ground and {"kind": ground.kind, "source": ground.source}
    if content.is_captured:
        said |= {
            "requirement": issue.requirement,
            "location": issue.location and issue.location.value,
            "evidence": issue.evidence,
            "suggestion": issue.suggestion,
        }
        if isinstance(issue, Discarded):
            said["discard_reason"] = issue.reason
    return said


def decision(one: Decision, content: Content) -> Values:
    numbers = {names.DECISION_NUMBER_PREFIX + k: v for k, v in one.numbers.items() if isinstance(v, (int, float))}
    return {
        names.DECISION_ACTION: one.action,
        names.DECISION_REASON: one.reason,
        names.DECISION_BUDGET_DIMENSION: one.budget_dimension,
        names.DECISION_MESSAGE: one.message if content.is_captured else None,
        **numbers,
    }


def call_start(run: Run, request: ChatRequest, model: str, content: Content) -> Values:
    prompt = run.prompts.get(request.role)
    use = run.models.get(request.role)
    said: Values = {
        names.OPERATION_NAME: "chat",
        names.PROVIDER_NAME: provider(use.endpoint if use else None),
        names.OPENINFERENCE_KIND: "LLM",
        names.ROLE: request.role,
        names.REQUEST_MODEL: model,
        names.REQUEST_MAX_TOKENS: request.max_tokens,
        names.REQUEST_TEMPERATURE: request.temperature,
        names.REQUEST_SEED: request.seed,
        names.OUTPUT_TYPE: "text" if request.schema is None else "json",
        names.PROMPT_NAME: prompt.name if prompt else None,
        names.PROMPT_VERSION: prompt.sha256 if prompt else None,
        names.CALL_INDEX: request.call,
        names.RESERVED_TOKENS: request.reserved_tokens,
        **_server(use.endpoint if use else None),
    }
    return said | _prompt(request.messages, content)


def _prompt(messages: Sequence[Message], content: Content) -> Values:
    if not content.is_captured:
        return {}
    system = [_part(m.content) for m in messages if m.role == "system"]
    others = [{"role": m.role, "parts": [_part(m.content)]} for m in messages if m.role != "system"]
    return {
        names.SYSTEM_INSTRUCTIONS: content.json(system) if system else None,
        names.INPUT_MESSAGES: content.json(others),
    }


def call_end(rows: Sequence[LedgerRow]) -> Values:
    """What the attempts of one call took, summed as the ledger sums them. Unknown stays absent, never zero."""
    if not rows:
        return {}
    last = rows[-1]
    said: Values = {
        names.RESPONSE_MODEL: last.answered,
        names.RESPONSE_FINISH_REASONS: [last.finish_reason] if last.finish_reason else None,
    }
    if all(row.input_tokens is None and row.output_tokens is None for row in rows):
        return said
    total = usage(rows)
    return said | {
        names.INPUT_TOKENS: total.input_tokens,
        names.OUTPUT_TOKENS: total.output_tokens,
        names.CACHED_TOKENS: total.cached_tokens,
        names.REASONING_TOKENS: total.reasoning_tokens,
    }


def attempt(row: LedgerRow) -> Values:
    return {
        names.ATTEMPT_INDEX: row.attempt,
        names.ATTEMPT_STATUS: row.status,
        names.ATTEMPT_SECONDS: row.seconds,
        names.INPUT_TOKENS: row.input_tokens,
        names.OUTPUT_TOKENS: row.output_tokens,
    }


def reply(request: ChatRequest, one: ChatReply, content: Content) -> Values:
    """The answer, and the prompt anew where another one was sent than was first meant."""
    if not content.is_captured:
        return {}
    message = {"role": "assistant", "parts": [_part(one.text)], "finish_reason": one.finish_reason or "stop"}
    sent = request.asked(one.protocol)
    prompt = _prompt(sent, content) if sent != request.messages else {}
    return {names.OUTPUT_MESSAGES: content.json([message]), **prompt}


def provider(endpoint: str | None) -> str:
    """The provider as the conventions name it; our own names for what has no endpoint or is not known."""
    if endpoint is None:
        return "reflect_lab.scripted"
    return _PROVIDERS.get(urlsplit(endpoint).hostname or "", "openai_compatible")


def _server(endpoint: str | None) -> Values:
    if endpoint is None:
        return {}
    parts = urlsplit(endpoint)
    try:
        port = parts.port or {"https": 443, "http": 80}.get(parts.scheme)
    except ValueError:
        port = None
    return {names.SERVER_ADDRESS: parts.hostname, names.SERVER_PORT: port}


def _part(text: str) -> dict[str, str]:
    return {"type": "text", "content": text}
