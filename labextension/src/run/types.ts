/* Generated from the Python dataclasses by scripts/generate_types.py: never edit; `npm run generate`. */

/**
 * The whole record of one loop on one task.
 *
 * `not_recorded` holds JSON pointers of parts that a source never had. `salt` makes prompt delimiters unpredictable
 * to the author of quoted text and stable for replay. `started_at` is UTC in ISO 8601, given from outside the core.
 * `parent_run` started this one; where `forked_at` is a number, the rounds up to it are the parent's and were paid for
 * there. `carried` stands where the parent handed over what was left of its budget (`on_exhaustion: model:NAME`): its
 * calls open the ledger, and every limit but that of revisions counts both runs. `lessons` come from earlier trials on
 * the task.
 */
export interface Run {
  carried: Carried | null;
  forked_at: number | null;
  ledger: LedgerRow[];
  lessons: string[];
  models: {
    [k: string]: ModelUse;
  };
  name: string | null;
  not_recorded: string[];
  notices: Notice[];
  outcome: Outcome | null;
  parent_run: string | null;
  policy: Policy;
  preset: string | null;
  prompts: {
    [k: string]: PromptUse;
  };
  review: Review | null;
  rounds: Round[];
  run_id: string;
  salt: string;
  schema: string;
  started_at: string | null;
  tags: {
    [k: string]: string;
  };
  task: Task;
  usage: Usage;
  versions: {
    [k: string]: string;
  };
}
/**
 * What the checks of the run that handed over to this one had taken; its calls stand in the ledger.
 */
export interface Carried {
  seconds: number;
  tool_calls: number;
}
/**
 * One attempt of one logical call. `call` counts logical calls of the run from 1, `attempt` from 1 within a call.
 *
 * `reserved_tokens` is the estimate that was set aside before the call, `reserved_cost` the price of it, in the
 * limit's currency, where cost has a limit. `cost_uncertain`: the provider may have charged for an attempt whose usage
 * never arrived. `paid_by` is the run that made the attempt, where that is the one that handed over to this one.
 * `seconds` includes a wait before the attempt.
 */
export interface LedgerRow {
  answered: string | null;
  attempt: number;
  cached_tokens: number | null;
  call: number;
  cost: number | null;
  cost_uncertain: boolean;
  currency: string | null;
  dropped_params: string[];
  error: string | null;
  finish_reason: string | null;
  input_tokens: number | null;
  model: string;
  output_tokens: number | null;
  paid_by: string | null;
  protocol: string | null;
  reasoning_tokens: number | null;
  reserved_cost: number | null;
  reserved_tokens: number | null;
  role: "generator" | "critic" | "evidence";
  round: number;
  seconds: number;
  status: "ok" | "retried" | "refused" | "failed" | "cancelled" | "cached";
  text: string | null;
}
/**
 * Which model a role asked for, which one answered, and where. None: not known (yet).
 */
export interface ModelUse {
  answered: string | null;
  endpoint: string | null;
  requested: string;
}
/**
 * Something that the reader of a run should know and that changed no decision.
 */
export interface Notice {
  kind: string;
  message: string;
}
/**
 * What became of a run. `draft` is the text that is returned: the draft that passed, else the best so far.
 *
 * `recorded` is False where a recording (log, index, spans) failed: the run is right, its record is not whole.
 */
export interface Outcome {
  budget_dimension: string | null;
  draft: string | null;
  draft_index: number | null;
  error: RunError | null;
  message: string;
  open_blocking: string[];
  recorded: boolean;
  status: "accepted" | "escalated" | "stopped";
  stop_reason:
    | "pass"
    | "unverified"
    | "invalid_critique"
    | "repeated_failure"
    | "stalled"
    | "no_change"
    | "oscillating"
    | "no_signal"
    | "budget"
    | "denied"
    | "cancelled"
    | "error";
}
/**
 * Why a run ended with `error`; `message` is one clear line for the user.
 */
export interface RunError {
  kind:
    | "provider_refused"
    | "provider_error"
    | "rate_limited"
    | "timeout"
    | "context_overflow"
    | "bad_response"
    | "script_ended"
    | "internal";
  message: string;
}
/**
 * Everything that `decide` obeys. `sha256` is that of the content and is recorded with each run.
 */
export interface Policy {
  limits: Limits;
  on_denied: "stop";
  on_exhaustion: string;
  profile: string;
  rules: Rules;
  sha256: string;
  views: Views;
}
/**
 * The budget. None means that the dimension has no limit; `elapsed_s` is in seconds of active work.
 *
 * `cost` is in `currency` (US dollars where none is named). `rates` converts other currencies into it:
 * `{"EUR": 1.08}` reads "1 EUR = 1.08 of the limit's currency". A cost limit needs a known price of each call.
 * `strict` reserves a hard bound before each call, not an estimate: a prompt by its bytes, and all of `max_tokens`.
 */
export interface Limits {
  cost: number | null;
  critic_calls: number | null;
  currency: string | null;
  elapsed_s: number | null;
  model_calls: number | null;
  rates: {
    [k: string]: number;
  };
  revisions: number;
  strict: boolean;
  tool_calls: number | null;
  total_tokens: number | null;
}
/**
 * How a round is judged. Scores and gains are in 0..1.
 *
 * `width` drafts are written in each round and `select` chooses among them, and, where nothing passed, among the
 * rounds (see `selection`). `critique` says what a critic answers with: issues, or free text.
 */
export interface Rules {
  coverage: "reported" | "required";
  critic: "always" | "when_gates_pass" | "never";
  critique: "issues" | "text";
  draft_quotes: "discard" | "allow";
  max_issues: number;
  min_gain: number;
  pass_score: number;
  patience: number;
  repeat_limit: number;
  revision: "auto" | "patch" | "rewrite";
  select: "pass" | "best" | "last" | "vote" | "rank";
  signal: "required" | "optional";
  width: number;
}
/**
 * Which parts of the record each role sees, in the order in which they stand in its prompt.
 *
 * `draft_role` is the chat role that carries a draft to the generator: quoted in the user's message, or as the
 * assistant's own last answer.
 */
export interface Views {
  critic: (
    "task" | "requirements" | "facts" | "draft" | "evidence" | "feedback" | "critique" | "history" | "peers" | "lessons"
  )[];
  draft_role: "user" | "assistant";
  generator: (
    "task" | "requirements" | "facts" | "draft" | "evidence" | "feedback" | "critique" | "history" | "peers" | "lessons"
  )[];
}
/**
 * A role's prompt by name and content hash; `rubric` are its task-list items.
 */
export interface PromptUse {
  name: string;
  rubric: string[];
  sha256: string;
}
/**
 * What a person decided on an escalated run.
 */
export interface Review {
  action: "approve" | "reject" | "edit" | "return";
  note: string;
  reviewer: string;
  time: string;
}
/**
 * A draft, its evidence, its critique and the decision. None means "not there yet"; `()` means "none found".
 *
 * `others` are the candidates beside the chosen draft. `shortage` says why a critic (or a further candidate) was not
 * asked for. `quote` are the prompt sizes by which the decision judged what a revision would take.
 */
export interface Round {
  critique: Critique | null;
  decision: Decision | null;
  draft: Draft;
  evidence: Evidence[] | null;
  feedback: Feedback | null;
  index: number;
  others: Candidate[];
  quote: Estimate | null;
  shortage: Shortage | null;
  usage: Usage;
}
/**
 * What stands against one draft: issues of checks and of the critic, discarded ones, a score and its kind.
 *
 * `score` is in 0..1 or None for unknown; scores of two kinds are never compared. `problem` says why a critique is
 * not valid. `repairs` counts repair requests. `critic_score` is the critic's own, also where it did not become the
 * score (a contradictory critique), so that a replay under another policy can judge anew. `text` is a critique in free
 * text.
 */
export interface Critique {
  critic_score: number | null;
  discarded: Discarded[];
  issues: Issue[];
  problem: string | null;
  protocol: string | null;
  repairs: number;
  requirements_checked: string[];
  score: number | null;
  score_kind: ("critic" | "checks") | null;
  text: string | null;
  validity: "ok" | "refused" | "truncated" | "invalid" | "contradictory" | "not_asked";
}
/**
 * A critic's issue that changes nothing, kept in the record with the reason.
 */
export interface Discarded {
  evidence: string;
  id: string;
  location: Location | null;
  reason: string;
  requirement: string | null;
  severity: "blocking" | "major" | "minor";
  suggestion: string;
}
/**
 * A place in the draft. `value` is a line number (`3`), a range (`3-7`), a path, a clause or a quote; None where
 * the kind says it all. A critic's free words that stand nowhere in the draft have no kind.
 */
export interface Location {
  kind: ("whole" | "line" | "lines" | "clause" | "path" | "paragraph" | "quote") | null;
  value: string | null;
}
/**
 * A problem of one draft. `key` is made by code and carries the issue across rounds; `id` is the critic's label
 * or the check's `name` or `name/finding`. `source` is `critic` or the check's name.
 */
export interface Issue {
  evidence: string;
  ground: Ground | null;
  id: string;
  key: string;
  location: Location | null;
  requirement: string | null;
  severity: "blocking" | "major" | "minor";
  source: string;
  suggestion: string;
}
/**
 * Why an issue may be believed. `source` is `task`, `R3`, `fact:2`, `evidence:NAME` or `draft`.
 *
 * `start` and `end` are Unicode code points into that source's own text; None where an issue names a requirement
 * without quoting it.
 */
export interface Ground {
  end: number | null;
  kind: "requirement" | "task" | "fact" | "evidence" | "absent" | "draft";
  source: string;
  start: number | null;
}
/**
 * What the controller answered after a round, in words and with the numbers that caused it.
 */
export interface Decision {
  action: "revise" | "stop";
  budget_dimension: string | null;
  message: string;
  numbers: {
    [k: string]: number | string | null;
  };
  reason: string;
}
/**
 * One version of the answer. `parent` is the index of the draft that it revises.
 *
 * `extraction` names the rule by which `text` was taken from the reply. `raw` is the reply where it differs from the
 * text; `reasoning` is kept apart and reaches no prompt. `refused` holds a refusal's words. `candidate` counts the
 * drafts of one round from 0. `patch_failed` says why a patch did not apply, where this rewrite took its place.
 */
export interface Draft {
  ambiguous: string | null;
  candidate: number;
  diff: Hunk[] | null;
  extraction: string;
  index: number;
  mode: "first" | "patch" | "rewrite" | "fixed" | "edited";
  parent: number | null;
  patch_failed: string | null;
  raw: string | null;
  reasoning: string | null;
  refused: string | null;
  sha256: string;
  text: string;
  truncated: boolean;
}
/**
 * A changed run of lines between a draft and its parent: lines `old_start..old_end` became `new_start..new_end`
 * (half open, counted from 0). `old_marks` and `new_marks` are the changed spans `(line, start, end)` in code points,
 * where a line was altered rather than replaced.
 */
export interface Hunk {
  new_end: number;
  new_marks: [number, number, number][];
  new_start: number;
  old_end: number;
  old_marks: [number, number, number][];
  old_start: number;
}
/**
 * What one source reported on one draft.
 *
 * `source` is the check's name. `text` is the report in words, capped. `executions` counts tool calls (a retry after
 * `error` is a second one). `seconds` is its own wall time, and `began` how many seconds after the gathering it began:
 * checks may overlap (None: not recorded, then it overlapped with none). `provenance` holds hashes, interpreter and
 * versions. `fix` is the whole draft with this source's problems mended deterministically, where it can do that.
 */
export interface Evidence {
  began: number | null;
  executions: number;
  findings: Finding[];
  fix: string | null;
  gate: boolean;
  kind: string;
  provenance: {
    [k: string]: string;
  };
  rank: "deterministic" | "executed" | "retrieval" | "human" | "model";
  requirements: string[];
  sandbox: Sandbox | null;
  seconds: number;
  source: string;
  status: "passed" | "failed" | "error" | "denied" | "not_run";
  text: string;
}
/**
 * One thing that a check found. `id` is stable over rounds (`case:2`, `INV-55821`); `advisory` never blocks.
 *
 * `message` says what is wrong in words of the check; it holds no text copied from the draft beyond the value itself.
 */
export interface Finding {
  id: string;
  location: Location | null;
  message: string;
  requirement: string | null;
  status: "passed" | "failed" | "error" | "not_run" | "advisory";
}
/**
 * Where executed evidence ran. `level` 0 off, 1 process limits (no isolation), 2 kernel-confined, 3 namespaced;
 * beside this order W, interpreter-only, and X, an external command.
 *
 * `verdict_integrity` is `split` where the parent compared plain values and `in_process` where asserts ran beside the
 * code under test, which could have forged them.
 */
export interface Sandbox {
  abi: number | null;
  level: 0 | 1 | 2 | 3 | "W" | "X";
  limits: {
    [k: string]: number | string;
  };
  name: string;
  selftest: string | null;
  verdict_integrity: ("split" | "in_process") | null;
}
/**
 * What the generator is sent: ids of issues in the order sent, and the ids that the cap held back.
 */
export interface Feedback {
  mode: "patch" | "rewrite";
  sent: string[];
  withheld: string[];
}
/**
 * A draft beside the chosen one of its round; `evidence` is None where the choice needed none.
 */
export interface Candidate {
  draft: Draft;
  evidence: Evidence[] | null;
}
/**
 * What a step's calls may take. `generator` and `critic` are prompt sizes in tokens of one call each; None where
 * the step makes no such call.
 *
 * `*_output` is what must be left for the answer, in tokens; `*_cost` is the most that the call may cost, in the
 * limit's currency, None where cost has no limit.
 */
export interface Estimate {
  critic: number | null;
  critic_cost: number | null;
  critic_output: number;
  generator: number | null;
  generator_cost: number | null;
  generator_output: number;
}
/**
 * A step that can't be afforded: `needed` and `left` are in the unit of `dimension`.
 */
export interface Shortage {
  dimension: string;
  left: number;
  message: string;
  needed: number;
  step: "draft" | "candidate" | "evidence" | "critique" | "repair" | "revision";
}
/**
 * What calls took. `calls` are logical calls; tokens, cost and cached/reasoning parts are None where unknown.
 *
 * `cached_tokens` are a part of `input_tokens`, `reasoning_tokens` a part of `output_tokens`; `seconds` are summed
 * active durations (checks that overlap count once); `cost` is in `currency`.
 */
export interface Usage {
  cached_tokens: number | null;
  calls: number;
  cost: number | null;
  currency: string | null;
  input_tokens: number | null;
  output_tokens: number | null;
  reasoning_tokens: number | null;
  seconds: number;
}
/**
 * The whole of what the roles may see. Labels (truth for measuring) are never part of it.
 *
 * `language` is the wanted language of the draft (`python`, `json`, `sql`, …) or None for prose; it decides how a
 * draft is taken from a reply.
 */
export interface Task {
  checks: CheckSpec[];
  facts: Fact[];
  language: string | null;
  name: string | null;
  requirements: Requirement[];
  sha256: string;
  text: string;
}
/**
 * A check that the task names.
 *
 * `name` is unique within the task, `kind` says which code performs it (`python`, `python_syntax`, `text`,
 * `json_schema`, `facts`, …). A `gate` is structural: when it fails, no critic call is spent. `requirements` are the
 * ids that the check covers; `options` is what that kind of check needs (plain JSON values).
 */
export interface CheckSpec {
  gate: boolean;
  kind: string;
  name: string;
  options: {
    [k: string]: unknown;
  };
  requirements: string[];
}
/**
 * One source line that the answer must agree with; `index` counts from 0.
 */
export interface Fact {
  index: number;
  text: string;
}
/**
 * One thing that the answer must do; `id` is `R1`, `R2`, … or the user's own.
 */
export interface Requirement {
  id: string;
  text: string;
}
