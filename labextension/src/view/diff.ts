/** Rows of a draft against its parent, from the hunks that Python computed. */
import type { Hunk } from '../run/types';
import { CodePoints, linesOf, type Span } from './codepoints';

export interface Row {
  kind: 'same' | 'removed' | 'added';
  /** Line numbers as people count, from 1. */
  oldLine: number | null;
  newLine: number | null;
  text: string;
  /** Changed parts of the line, in UTF-16 units. */
  marks: Span[];
}

export type Block = { kind: 'rows'; rows: Row[] } | { kind: 'fold'; rows: Row[] };

/** Unchanged lines shown on each side of a change, and the fewest that are worth folding. */
const CONTEXT = 3;
const SMALLEST_FOLD = 4;

type Mark = Hunk['old_marks'][number];

function byLine(marks: Mark[]): Map<number, Mark[]> {
  const lines = new Map<number, Mark[]>();
  for (const mark of marks) {
    const known = lines.get(mark[0]);
    if (known === undefined) {
      lines.set(mark[0], [mark]);
    } else {
      known.push(mark);
    }
  }
  return lines;
}

function spansOf(own: Mark[] | undefined, text: string): Span[] {
  if (own === undefined) {
    return [];
  }
  const points = new CodePoints(text);
  return own
    .map(mark => ({ start: points.toUtf16(mark[1]), end: points.toUtf16(mark[2]) }))
    .filter(span => span.end > span.start)
    .sort((a, b) => a.start - b.start);
}

/** Every row in order. Hunks that reach past a text are cut to it. */
export function rowsOf(oldText: string, newText: string, hunks: Hunk[]): Row[] {
  const before = linesOf(oldText);
  const after = linesOf(newText);
  const rows: Row[] = [];
  let oldAt = 0;
  let newAt = 0;
  const same = (until: number): void => {
    for (; newAt < Math.min(until, after.length); newAt += 1, oldAt += 1) {
      rows.push({ kind: 'same', oldLine: oldAt + 1, newLine: newAt + 1, text: after[newAt] ?? '', marks: [] });
    }
  };
  for (const hunk of [...hunks].sort((a, b) => a.new_start - b.new_start || a.old_start - b.old_start)) {
    same(hunk.new_start);
    const oldMarks = byLine(hunk.old_marks);
    const newMarks = byLine(hunk.new_marks);
    for (oldAt = hunk.old_start; oldAt < Math.min(hunk.old_end, before.length); oldAt += 1) {
      const text = before[oldAt] ?? '';
      const marks = spansOf(oldMarks.get(oldAt), text);
      rows.push({ kind: 'removed', oldLine: oldAt + 1, newLine: null, text, marks });
    }
    for (newAt = hunk.new_start; newAt < Math.min(hunk.new_end, after.length); newAt += 1) {
      const text = after[newAt] ?? '';
      const marks = spansOf(newMarks.get(newAt), text);
      rows.push({ kind: 'added', oldLine: null, newLine: newAt + 1, text, marks });
    }
  }
  same(after.length);
  return withoutEnd(rows);
}

/** The rows of a draft that is shown whole. */
export function wholeRows(text: string): Row[] {
  return withoutEnd(
    linesOf(text).map((line, at) => ({ kind: 'same', oldLine: null, newLine: at + 1, text: line, marks: [] }))
  );
}

/** The empty line after a last line feed is no line that a reader knows of; it is shown only where it changed. */
function withoutEnd(rows: Row[]): Row[] {
  const last = rows[rows.length - 1];
  return rows.length > 1 && last?.kind === 'same' && last.text === '' ? rows.slice(0, -1) : rows;
}

/** The rows with long unchanged runs set apart, so that they can be folded. */
export function foldUnchanged(rows: Row[]): Block[] {
  const near = new Array<boolean>(rows.length).fill(false);
  rows.forEach((row, at) => {
    if (row.kind !== 'same') {
      near.fill(true, Math.max(0, at - CONTEXT), Math.min(rows.length, at + CONTEXT + 1));
    }
  });
  const blocks: Block[] = [];
  for (let at = 0; at < rows.length; ) {
    let end = at;
    while (end < rows.length && near[end] === near[at]) {
      end += 1;
    }
    const run = rows.slice(at, end);
    const last = blocks[blocks.length - 1];
    if (near[at] !== true && run.length >= SMALLEST_FOLD) {
      blocks.push({ kind: 'fold', rows: run });
    } else if (last?.kind === 'rows') {
      last.rows.push(...run);
    } else {
      blocks.push({ kind: 'rows', rows: run });
    }
    at = end;
  }
  return blocks;
}

export function changes(rows: Row[]): { added: number; removed: number } {
  return {
    added: rows.filter(row => row.kind === 'added').length,
    removed: rows.filter(row => row.kind === 'removed').length
  };
}
