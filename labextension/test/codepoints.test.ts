import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CodePoints, excerpt, linesOf, pieces, plainLabel } from '../src/view/codepoints';
import { fixture } from './fixtures';

test('a code point offset after astral characters lands on the right UTF-16 offset', () => {
  const points = new CodePoints('🧪🧪ab');
  assert.equal(points.toUtf16(2), 4);
  assert.equal(points.slice(1, 3), '🧪a');
});

test('a lone surrogate counts as one code point, as in Python', () => {
  assert.equal(new CodePoints('\ud83ex').slice(1, 2), 'x');
});

test('an offset outside the text is kept within it', () => {
  assert.equal(new CodePoints('abc').toUtf16(99), 3);
  assert.equal(new CodePoints('🧪').toUtf16(99), 2);
  assert.equal(new CodePoints('🧪').toUtf16(-1), 0);
});

test('the pieces of a text are the text, and none of its plain ones hides or reorders anything', () => {
  const text = fixture('hostile').task.text;
  const parts = pieces(text);
  assert.equal(parts.map(part => (part.kind === 'plain' ? part.text : part.char)).join(''), text);
  for (const part of parts) {
    if (part.kind === 'plain') {
      assert.doesNotMatch(part.text, /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b\u202a-\u202e\u2066-\u2069\ufeff]/);
    }
  }
  const names = new Set(parts.flatMap(part => (part.kind === 'hidden' ? [part.name] : [])));
  for (const name of ['ESC', 'RLO', 'LRI', 'ZWSP', 'BOM', 'NUL', 'SHY', 'U+D83E']) {
    assert.ok(names.has(name), `${name} is shown`);
  }
});

test('a joiner between Latin letters, a second selector and tags are hidden text', () => {
  const names = pieces('a\u200db ⚕\ufe0f\ufe0f\u{e0041}').flatMap(part => (part.kind === 'hidden' ? [part.name] : []));
  assert.deepEqual(names, ['ZWJ', 'U+FE0F', 'U+E0041']);
});

test('joiners that emoji and scripts need stay as they are, and so do tabs and line feeds', () => {
  const text = '👩\u200d🔬 می\u200cخواهم\tx\n';
  assert.deepEqual(pieces(text), [{ kind: 'plain', text }]);
});

test('a label is one short line in which hidden characters have names', () => {
  assert.equal(plainLabel('a\n b\u202ec'), 'a b[RLO]c');
  assert.equal(plainLabel('x'.repeat(500), 10), `${'x'.repeat(9)}…`);
});

test('lines are counted as hunks count them: at line feeds alone', () => {
  assert.deepEqual(linesOf('a\nb\n'), ['a', 'b', '']);
  assert.deepEqual(linesOf('a\r\nb'), ['a\r', 'b']);
  assert.deepEqual(linesOf(''), ['']);
});

test('an excerpt holds the quote and whole words around it', () => {
  const source = 'one two three four five six seven';
  const part = excerpt(source, { start: 14, end: 18 }, 6);
  assert.deepEqual(part, { before: 'three ', quote: 'four', after: ' five', cutBefore: true, cutAfter: true });
});

test('an excerpt of a span that is not in the source is none', () => {
  assert.equal(excerpt('short', { start: 40, end: 50 }), null);
  assert.equal(excerpt('short', { start: 3, end: 3 }), null);
});
