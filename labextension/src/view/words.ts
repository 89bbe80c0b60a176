/** What the names of the record mean in plain words, and how its numbers are written. */
import type { Draft, Evidence, Issue, Outcome, Run } from '../run/types';

/** How the end of a run looks: each has its own words, icon and colour. */
export type Tone = 'accepted' | 'escalated' | 'stopped' | 'cancelled' | 'error' | 'unknown' | 'running';

export type StopReason = Outcome['stop_reason'];
export type Status = Evidence['status'];
export type Severity = Issue['severity'];

export const STOP_TITLES: Record<StopReason, string> = {
  pass: 'Accepted on the evidence shown',
  unverified: 'Not verified: something that the task names was not checked',
  invalid_critique: 'The critique could not be used',
  repeated_failure: 'The same failure came back',
  stalled: 'The revisions made no progress',
  no_change: 'The revision changed nothing',
  oscillating: 'The revision went back to an earlier draft',
  no_signal: 'There is nothing to check the draft against',
  budget: 'The next step is not in the budget',
  denied: 'An action was refused',
  cancelled: 'Cancelled',
  error: 'Ended by an error'
};

export const DIMENSIONS: Record<string, string> = {
  revisions: 'revisions',
  model_calls: 'model calls',
  critic_calls: 'critic calls',
  total_tokens: 'tokens',
  elapsed_s: 'seconds',
  cost: 'cost',
  tool_calls: 'tool calls'
};

export const STATUS_WORDS: Record<Status, string> = {
  passed: 'passed',
  failed: 'failed',
  error: 'could not be checked (error)',
  denied: 'refused',
  not_run: 'not run'
};

export const FINDING_WORDS: Record<string, string> = { ...STATUS_WORDS, error: 'error', advisory: 'note' };

export const RANK_WORDS: Record<Evidence['rank'], string> = {
  deterministic: 'deterministic check',
  executed: 'executed',
  retrieval: 'retrieved',
  human: 'by a person',
  model: 'by a model'
};

export const MODE_WORDS: Record<Draft['mode'], string> = {
  first: 'first draft',
  patch: 'patch',
  rewrite: 'rewrite',
  fixed: 'fixed by a check',
  edited: 'edited by a person'
};

export const VALIDITY_WORDS: Record<string, string> = {
  refused: 'The critic refused to answer.',
  truncated: 'The critique was cut off.',
  invalid: 'The critique could not be read.',
  contradictory: 'The critique contradicts itself: a low score and no issue.',
  not_asked: 'The critic was not asked.'
};

export function toneOf(run: Run | null, isLive: boolean): Tone {
  if (isLive || run === null) {
    return 'running';
  }
  const { outcome } = run;
  if (outcome === null) {
    return 'unknown';
  }
  if (outcome.stop_reason === 'cancelled' || outcome.stop_reason === 'error') {
    return outcome.stop_reason;
  }
  return outcome.status;
}

export const TONE_WORDS: Record<Tone, string> = {
  accepted: 'accepted',
  escalated: 'a person must decide',
  stopped: 'stopped',
  cancelled: 'cancelled',
  error: 'error',
  unknown: 'no end recorded',
  running: 'running'
};

/** The title of the end: the reason in plain words, with the budget's dimension where it is one. */
export function stopTitle(outcome: Outcome): string {
  const title = STOP_TITLES[outcome.stop_reason] ?? `Stopped: ${outcome.stop_reason}`;
  if (outcome.stop_reason === 'budget' && outcome.budget_dimension !== null) {
    return `The budget of ${DIMENSIONS[outcome.budget_dimension] ?? outcome.budget_dimension} does not allow another step`;
  }
  return title;
}

const GROUPED = new Intl.NumberFormat('en-GB', { maximumFractionDigits: 0 });
const PRECISE = new Intl.NumberFormat('en-GB', { maximumFractionDigits: 3 });

export function count(value: number | null | undefined): string {
  return typeof value === 'number' ? GROUPED.format(value) : 'unknown';
}

export function number(value: number | string | null): string {
  if (value === null) {
    return 'unknown';
  }
  return typeof value === 'number' ? PRECISE.format(value) : value;
}

const UNITS: Record<string, string> = { s: 's', ms: 'ms' };

function bytes(value: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB'];
  let [size, at] = [value, 0];
  while (size >= 1024 && at < units.length - 1) {
    [size, at] = [size / 1024, at + 1];
  }
  return `${PRECISE.format(Number(size.toPrecision(3)))} ${units[at]}`;
}

/** What the first word of a limit's name means, in the order in which people ask. */
const LIMITED: Record<string, string> = {
  wall: 'time',
  cpu: 'CPU time',
  memory: 'memory',
  processes: 'processes',
  open: 'open',
  heap: 'all its values',
  file: 'one file',
  disk: 'all files',
  output: 'kept output',
  user: 'as user'
};

/** Limits in words. A saved notebook has its keys sorted, so the order is made here. */
export function limits(all: Record<string, number | string>): string {
  const known = Object.keys(LIMITED);
  const place = (name: string): number => (known.indexOf(name.split('_')[0] ?? '') + known.length + 1) % (known.length + 1);
  const names = Object.keys(all).sort((one, other) => place(one) - place(other) || (one < other ? -1 : 1));
  return names.map(name => limit(name, all[name] ?? '')).join(', ');
}

/** A limit such as `cpu_s: 5`, which carries its unit in its name, as "CPU time 5 s". */
export function limit(name: string, value: number | string): string {
  const [first = '', ...others] = name.split('_');
  const words = [LIMITED[first] ?? first, ...others];
  if (words[words.length - 1] === 'bytes' && typeof value === 'number') {
    return `${words.slice(0, -1).join(' ')} ${bytes(value)}`;
  }
  const unit = words.length > 1 ? UNITS[words[words.length - 1] ?? ''] : undefined;
  const what = unit === undefined ? words : words.slice(0, -1);
  return [...what, number(value), unit ?? ''].join(' ').trim();
}

const PROPERTIES: Record<string, string> = {
  python: 'Python',
  exit: 'exit code',
  cpu_s: 'CPU time used',
  peak_rss_bytes: 'most memory used',
  is_output_cut: 'its output was cut',
  stability: 'verdict',
  bwrap: 'bubblewrap',
  sandbox_command: 'sandbox command',
  code_sha256: 'draft, SHA-256',
  tests_sha256: 'tests, SHA-256',
  seccomp_sha256: 'seccomp filter, SHA-256'
};

/** A property of an execution such as `peak_rss_bytes: "12460032"` in words; one that is not known here stays as it is. */
export function property(name: string, value: string): [string, string] {
  const words = PROPERTIES[name];
  const amount = Number(value);
  if (words === undefined) {
    return [name, value];
  }
  if (name === 'exit' && !Number.isInteger(amount)) {
    return ['ended by', value];
  }
  if (name === 'is_output_cut') {
    return [words, value === 'true' ? 'yes' : 'no'];
  }
  if (name.endsWith('_bytes') && Number.isFinite(amount)) {
    return [words, bytes(amount)];
  }
  return [words, name.endsWith('_s') && Number.isFinite(amount) ? seconds(amount) : value];
}

/** What code that ran at a level of the sandbox could have reached. */
export const REACH: Record<string, string> = {
  1: 'The code’s time, memory and output were limited. Else it could do what you can: read and change your files, use the network.',
  2: 'The code could read the system’s files and this Python, write in a folder of its own, and reach neither the network nor other processes.',
  3: 'The code could read the system’s files and this Python, write in a folder of its own, and reach neither the network nor other processes.',
  W: 'The code ran in an interpreter of its own, which knows no files, no network, no other process and not the environment.',
  X: 'What the code could reach is known to whoever wrote the command; the self-test says what its probe reached.'
};

export function score(value: number): string {
  return value.toFixed(2);
}

export function seconds(value: number): string {
  if (value < 0.1) {
    return `${Math.round(value * 1000)} ms`;
  }
  if (value < 100) {
    return `${value.toFixed(1)} s`;
  }
  const whole = Math.round(value);
  return `${Math.floor(whole / 60)} min ${whole % 60} s`;
}

/** A cost in its currency, or "unpriced" where none is known: never 0 for unknown. */
export function cost(value: number | null, currency: string | null): string {
  if (value === null) {
    return 'unpriced';
  }
  const digits = value !== 0 && Math.abs(value) < 0.01 ? 6 : 3;
  return `${value.toFixed(digits)} ${currency ?? ''}`.trim();
}

export function plural(amount: number, one: string, many = `${one}s`): string {
  return `${GROUPED.format(amount)} ${amount === 1 ? one : many}`;
}

/** Tokens in and out as one number; unknown as soon as one of them is. */
export function totalTokens(input: number | null, output: number | null): number | null {
  return input === null || output === null ? null : input + output;
}
