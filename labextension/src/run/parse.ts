/** From unknown JSON to a run document, or to one clear sentence why not. */
import type { Run } from './types';

export const SCHEMA = 'reflect-lab/run/1';

/** What the saved output and the widget carry beside the run. */
export interface Saved {
  run: Run;
  /** Where the traces of this run went: a folder, or words. */
  traces: string | null;
  /** Parts that were left out of a saved output for its size, and how to get them. */
  leftOut: string[];
}

export class NotARun extends Error {}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Checks what the view stands on; the rest was validated by Python when the document was written. */
export function parseRun(value: unknown): Run {
  if (!isRecord(value)) {
    throw new NotARun('This output holds no run document.');
  }
  const schema = value['schema'];
  if (schema !== SCHEMA) {
    const found = typeof schema === 'string' ? `"${schema}"` : 'nothing';
    throw new NotARun(
      `This run was written as ${found}; this view reads "${SCHEMA}". Update reflect-lab where the notebook is shown.`
    );
  }
  for (const [name, holds] of [
    ['task', isRecord(value['task'])],
    ['usage', isRecord(value['usage'])],
    ['rounds', Array.isArray(value['rounds'])],
    ['ledger', Array.isArray(value['ledger'])],
    ['notices', Array.isArray(value['notices'])],
    ['not_recorded', Array.isArray(value['not_recorded'])]
  ] as const) {
    if (!holds) {
      throw new NotARun(`This run document is damaged: its part "${name}" is missing or of another kind.`);
    }
  }
  for (const round of value['rounds'] as unknown[]) {
    if (!isRecord(round) || !isRecord(round['draft']) || typeof round['draft']['text'] !== 'string') {
      throw new NotARun('This run document is damaged: a round holds no draft.');
    }
  }
  return value as unknown as Run;
}

/** The data of `application/vnd.reflectlab.run+json`. */
export function parseSaved(value: unknown): Saved {
  if (!isRecord(value)) {
    throw new NotARun('This output holds no run document.');
  }
  const { traces, left_out: leftOut } = value;
  return {
    run: parseRun(value['run']),
    traces: typeof traces === 'string' ? traces : null,
    leftOut: Array.isArray(leftOut) ? leftOut.filter((part): part is string => typeof part === 'string') : []
  };
}

/** Whether a part, named by its JSON pointer, was never in the record (which is neither empty nor none). */
export function isNotRecorded(run: Run, pointer: string): boolean {
  return run.not_recorded.some(known => pointer === known || pointer.startsWith(`${known}/`));
}
