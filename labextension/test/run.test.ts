import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isNotRecorded, NotARun, parseRun, parseSaved } from '../src/run/parse';
import { withDelta } from '../src/hosts/widget';
import { isJudged } from '../src/view/judged';
import type { Sandbox } from '../src/run/types';
import { linesAt, marksByLine, placeWords } from '../src/view/places';
import { commonPlace } from '../src/view/Sandbox';
import { receipts } from '../src/view/totals';
import { cost, count, limit, limits, property, REACH, seconds, stopTitle, STOP_TITLES, toneOf } from '../src/view/words';
import { fixture } from './fixtures';

test('a document of another schema version is refused with both versions named', () => {
  const later = { ...fixture('accepted'), schema: 'reflect-lab/run/2' };
  assert.throws(() => parseRun(later), (error: unknown) =>
    error instanceof NotARun && /reflect-lab\/run\/2/.test(error.message) && /reflect-lab\/run\/1/.test(error.message));
});

test('what is no run document says so, whatever it is', () => {
  for (const value of [null, undefined, 3, 'x', [], {}, { run: null }]) {
    assert.throws(() => parseSaved(value), NotARun);
  }
});

test('a damaged document names the damaged part', () => {
  assert.throws(() => parseRun({ ...fixture('accepted'), rounds: null }), /"rounds"/);
  assert.throws(() => parseRun({ ...fixture('accepted'), rounds: [{ index: 0 }] }), /no draft/);
});

test('a saved output carries where its traces are and what was left out', () => {
  const saved = parseSaved({ run: fixture('accepted'), traces: 'traces/', left_out: ['prompts', 3] });
  assert.equal(saved.traces, 'traces/');
  assert.deepEqual(saved.leftOut, ['prompts']);
  assert.equal(parseSaved({ run: fixture('accepted') }).traces, null);
});

test('a part is not recorded when it or what holds it is named', () => {
  const run = { ...fixture('accepted'), not_recorded: ['/rounds/0/critique', '/outcome'] };
  assert.ok(isNotRecorded(run, '/rounds/0/critique'));
  assert.ok(isNotRecorded(run, '/rounds/0/critique/score'));
  assert.ok(!isNotRecorded(run, '/rounds/0/critique2'));
  assert.ok(!isNotRecorded(run, '/rounds/1/critique'));
});

test('only a pass is accepted, and no title of an end says correct', () => {
  const tones = (['accepted', 'stalled', 'cancelled', 'error'] as const).map(name => toneOf(fixture(name), false));
  assert.deepEqual(tones, ['accepted', 'escalated', 'cancelled', 'error']);
  assert.equal(toneOf({ ...fixture('accepted'), outcome: null }, false), 'unknown');
  for (const title of Object.values(STOP_TITLES)) {
    assert.doesNotMatch(title, /correct|success/i);
  }
  assert.equal(stopTitle(fixture('accepted').outcome!), 'Accepted on the evidence shown');
});

test('a budget stop names its dimension in words', () => {
  const outcome = { ...fixture('stalled').outcome!, stop_reason: 'budget' as const, budget_dimension: 'total_tokens' };
  assert.match(stopTitle(outcome), /budget of tokens/);
});

test('unknown usage stays unknown and is never 0', () => {
  const critic = receipts(fixture('stalled').ledger).find(line => line.role === 'critic');
  assert.equal(critic?.input, null);
  assert.equal(critic?.output, 315);
  assert.equal(critic?.calls, 3);
  assert.equal(count(null), 'unknown');
  assert.equal(cost(null, null), 'unpriced');
  assert.equal(cost(0.0002, 'USD'), '0.000200 USD');
});

test('attempts are not calls, and costs of two currencies are not added', () => {
  const row = fixture('accepted').ledger[0]!;
  const [line] = receipts([
    { ...row, attempt: 1, cost: 1, currency: 'USD', cost_uncertain: true },
    { ...row, attempt: 2, cost: 1, currency: 'EUR' }
  ]);
  assert.deepEqual([line?.calls, line?.attempts, line?.cost, line?.uncertain], [1, 2, null, 1]);
});

test('limits and times are written with units that people read', () => {
  assert.equal(limit('cpu_s', 5), 'CPU time 5 s');
  assert.equal(limit('memory_bytes', 1 << 30), 'memory 1 GiB');
  assert.equal(limit('processes', 64), 'processes 64');
  assert.equal(limit('file_bytes', 64 << 20), 'one file 64 MiB');
  assert.equal(limits({ cpu_s: 5, a_new_one: 2, wall_s: 10, processes: 3 }), 'time 10 s, CPU time 5 s, processes 3, a new one 2');
  assert.equal(seconds(0.0042), '4 ms');
  assert.equal(seconds(12.34), '12.3 s');
  assert.equal(seconds(119.8), '2 min 0 s');
});

test('a property of an execution is told in words, one that is not known here as it is', () => {
  assert.deepEqual(property('peak_rss_bytes', '12582912'), ['most memory used', '12 MiB']);
  assert.deepEqual(property('cpu_s', '0.043'), ['CPU time used', '43 ms']);
  assert.deepEqual(property('is_output_cut', 'false'), ['its output was cut', 'no']);
  assert.deepEqual(property('exit', '-11'), ['exit code', '-11']);
  assert.deepEqual(property('exit', 'timeout'), ['ended by', 'timeout']);
  assert.deepEqual(property('cpu_s', 'a while'), ['CPU time used', 'a while']);
  assert.deepEqual(property('a_tool', '3 bytes'), ['a_tool', '3 bytes']);
});

test('one place is said once: the weakest verdict counts, limits that differ are left to each', () => {
  const [piece] = fixture('accepted').rounds[0]!.evidence!.filter(each => each.sandbox !== null);
  const at = (part: object) => ({ ...piece!, sandbox: { ...piece!.sandbox!, ...part } });
  const common = piece!.sandbox!.limits;
  const gate = at({ verdict_integrity: null });
  assert.equal(commonPlace([gate, at({ verdict_integrity: 'split' })])?.verdict_integrity, 'split');
  assert.equal(commonPlace([at({ verdict_integrity: 'split' }), at({ verdict_integrity: 'in_process' })])?.verdict_integrity, 'in_process');
  assert.deepEqual(commonPlace([gate, at({})])?.limits, common);
  assert.deepEqual(commonPlace([gate, at({ limits: { ...common, cpu_s: 99 } })])?.limits, {});
  assert.equal(commonPlace([gate, at({ level: 3 })]), null);
  assert.equal(commonPlace([]), null);
});

test('every level at which code runs says what the code could reach', () => {
  const levels: Sandbox['level'][] = [1, 2, 3, 'W', 'X'];
  assert.deepEqual(levels.filter(level => (REACH[level] ?? '').length < 40), []);
  assert.equal(REACH[0], undefined);
});

test('a place is found by line, by range and by quote, else not at all', () => {
  const draft = 'a\nb\nreturn total / count\nd';
  assert.deepEqual(linesAt({ kind: 'line', value: '3' }, draft), { from: 3, to: 3 });
  assert.deepEqual(linesAt({ kind: 'lines', value: '2-4' }, draft), { from: 2, to: 4 });
  assert.deepEqual(linesAt({ kind: 'quote', value: 'total / count' }, draft), { from: 3, to: 3 });
  assert.equal(linesAt({ kind: 'quote', value: 'nowhere' }, draft), null);
  assert.equal(linesAt({ kind: 'path', value: '$.a' }, draft), null);
  assert.equal(linesAt({ kind: 'line', value: 'x' }, draft), null);
  assert.equal(placeWords({ kind: 'whole', value: null }), 'the whole draft');
});

test('the worst issue marks a line', () => {
  const run = fixture('accepted');
  const round = run.rounds[0]!;
  assert.deepEqual([...marksByLine(round.critique!.issues, round.draft.text)], [[9, 'blocking']]);
});

test('streamed pieces are added once, in order, and a gap is shown', () => {
  const live = { step: 's', text: 'ab', elapsed: null, can_stop: true, buttons_off_reason: null, seq: 2 };
  assert.equal(withDelta(live, { type: 'text', delta: 'b', seq: 2 }), null);
  assert.equal(withDelta(live, { type: 'text', delta: 'c', seq: 3 })?.text, 'abc');
  assert.equal(withDelta(live, { type: 'text', delta: 'z', seq: 9 })?.text, 'ab…z');
  for (const message of [null, 'x', {}, { type: 'other', delta: 'x', seq: 3 }, { type: 'text', delta: 4, seq: 3 }]) {
    assert.equal(withDelta(live, message), null);
  }
});

test('what nobody looked at is not judged, whatever its number of problems', () => {
  const round = fixture('accepted').rounds[1]!;
  const critique = round.critique!;
  const passed = round.evidence!.map(piece => ({ ...piece, status: 'passed' as const }));
  const notRun = passed.map(piece => ({ ...piece, status: 'not_run' as const }));
  const asked = (validity: typeof critique.validity, evidence: typeof round.evidence): boolean =>
    isJudged({ ...round, evidence, critique: { ...critique, validity } });
  assert.ok(passed.length > 0);
  assert.ok(asked('ok', []), 'a valid critique');
  assert.ok(asked('not_asked', passed), 'a check that ran');
  assert.ok(!asked('not_asked', notRun), 'no check ran');
  assert.ok(!asked('not_asked', []), 'no check is there');
  assert.ok(!asked('invalid', passed), 'a critique that can\'t be read');
  assert.ok(!isJudged({ ...round, critique: null }), 'no critique');
});
