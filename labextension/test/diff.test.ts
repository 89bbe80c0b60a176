import assert from 'node:assert/strict';
import { test } from 'node:test';
import { changes, foldUnchanged, rowsOf, type Row } from '../src/view/diff';
import { linesOf } from '../src/view/codepoints';
import type { Run } from '../src/run/types';
import { fixture, NAMES } from './fixtures';

function pairs(run: Run): { name: string; old: string; next: string; rows: Row[] }[] {
  return run.rounds.flatMap(({ draft }) => {
    const parent = run.rounds.find(round => round.draft.index === draft.parent)?.draft;
    return parent === undefined || draft.diff === null
      ? []
      : [{ name: `${run.run_id} ${draft.index}`, old: parent.text, next: draft.text, rows: rowsOf(parent.text, draft.text, draft.diff) }];
  });
}

test('the rows of every recorded diff give both drafts back, with right line numbers', () => {
  const all = NAMES.flatMap(name => pairs(fixture(name)));
  assert.ok(all.length >= 4);
  for (const { name, old, next, rows } of all) {
    const before = rows.filter(row => row.kind !== 'added');
    const after = rows.filter(row => row.kind !== 'removed');
    assert.deepEqual(before.map(row => row.text), linesOf(old).slice(0, -1), name);
    assert.deepEqual(after.map(row => row.text), linesOf(next).slice(0, -1), name);
    assert.deepEqual(after.map(row => row.newLine), after.map((_, at) => at + 1), name);
    assert.deepEqual(before.map(row => row.oldLine), before.map((_, at) => at + 1), name);
  }
});

test('marks are turned from code points into UTF-16', () => {
  const hunk = { old_start: 0, old_end: 1, new_start: 0, new_end: 1 };
  const [removed, added] = rowsOf('🧪 old', '🧪 new', [
    { ...hunk, old_marks: [[0, 2, 5]], new_marks: [[0, 2, 5]] }
  ]);
  const marked = (row: Row | undefined): string[] => row?.marks.map(mark => row.text.slice(mark.start, mark.end)) ?? [];
  assert.deepEqual(marked(removed), ['old']);
  assert.deepEqual(marked(added), ['new']);
});

test('long unchanged runs are folded, changes and what stands near them are not', () => {
  const old = Array.from({ length: 30 }, (_, at) => `line ${at}`);
  const next = [...old];
  next[15] = 'changed';
  const rows = rowsOf(old.join('\n'), next.join('\n'), [
    { old_start: 15, old_end: 16, new_start: 15, new_end: 16, old_marks: [], new_marks: [] }
  ]);
  const blocks = foldUnchanged(rows);
  assert.deepEqual(blocks.map(block => [block.kind, block.rows.length]), [['fold', 12], ['rows', 8], ['fold', 11]]);
  assert.deepEqual(blocks.flatMap(block => block.rows), rows);
  assert.deepEqual(changes(rows), { added: 1, removed: 1 });
});

test('a short unchanged run is not worth a button', () => {
  const rows = rowsOf('a\nb\nc\nd\ne\nf', 'a\nb\nc\nd\ne\nX', [
    { old_start: 5, old_end: 6, new_start: 5, new_end: 6, old_marks: [], new_marks: [] }
  ]);
  assert.deepEqual(foldUnchanged(rows).map(block => block.kind), ['rows']);
});

test('a last line feed that went away is a change that is seen', () => {
  const rows = rowsOf('a\n', 'a', [
    { old_start: 1, old_end: 2, new_start: 1, new_end: 1, old_marks: [], new_marks: [] }
  ]);
  assert.deepEqual(rows.map(row => [row.kind, row.text]), [['same', 'a'], ['removed', '']]);
});

test('hunks that reach past a text are cut to it', () => {
  const rows = rowsOf('a', 'b', [
    { old_start: 0, old_end: 9, new_start: 0, new_end: 9, old_marks: [[7, 0, 9]], new_marks: [] }
  ]);
  assert.deepEqual(rows.map(row => [row.kind, row.text]), [['removed', 'a'], ['added', 'b']]);
});
