import assert from 'node:assert/strict';
import { test } from 'node:test';
import { issueHistory, sourceOf } from '../src/view/history';
import { excerpt } from '../src/view/codepoints';
import type { Round } from '../src/run/types';
import { fixture } from './fixtures';

function fates(rounds: Round[]): Record<string, string> {
  return Object.fromEntries(issueHistory(rounds).map(line => [line.key, line.fates.join(' ')]));
}

test('each key is new, kept, solved or back again over the rounds', () => {
  assert.deepEqual(fates(fixture('stalled').rounds), {
    'check:facts/5200': 'new kept kept',
    R1: 'new solved back',
    'fact:2/1-4': 'new kept solved'
  });
});

test('a round without a critique solves nothing', () => {
  const rounds = fixture('stalled').rounds.map((round, at) => (at === 1 ? { ...round, critique: null } : round));
  assert.deepEqual(fates(rounds), {
    'check:facts/5200': 'new unknown kept',
    R1: 'new unknown kept',
    'fact:2/1-4': 'new unknown solved'
  });
});

test('a check that did not run and a critic that was not asked solve nothing', () => {
  const [first, second, third] = fixture('stalled').rounds as [Round, Round, Round];
  const evidence = second.evidence!.map(piece => ({ ...piece, status: 'not_run' as const, findings: [] }));
  const silent = { ...second, evidence, critique: { ...second.critique!, issues: [], validity: 'not_asked' as const } };
  assert.deepEqual(fates([first, silent, third]), {
    'check:facts/5200': 'new unknown kept',
    R1: 'new unknown kept',
    'fact:2/1-4': 'new unknown solved'
  });
  const passed = { ...silent, evidence: second.evidence!.map(piece => ({ ...piece, status: 'passed' as const })) };
  assert.equal(fates([first, passed, third])['check:facts/5200'], 'new solved back');
});

test('a key that comes up late was absent before', () => {
  const rounds = fixture('stalled').rounds;
  const first = { ...(rounds[0] as Round), critique: { ...(rounds[0] as Round).critique!, issues: [] } };
  assert.equal(fates([first, ...rounds.slice(1)])['R1'], 'absent absent new');
});

test('every ground of the recorded runs quotes the words that it says', () => {
  const seen: string[] = [];
  for (const run of [fixture('accepted'), fixture('stalled')]) {
    for (const round of run.rounds) {
      for (const { ground } of round.critique?.issues ?? []) {
        if (ground === null || ground.start === null || ground.end === null) {
          continue;
        }
        const source = sourceOf(run, round, ground);
        assert.ok(source !== null, ground.source);
        seen.push(`${ground.source}: ${excerpt(source.text, { start: ground.start, end: ground.end })?.quote}`);
      }
    }
  }
  for (const words of [
    'evidence:python:1: mean([]) == 0.0',
    'R2: the empty list gives 0.0',
    'task: of a list of numbers, as a float',
    'fact:2: 4,200 customers could not sign in'
  ]) {
    assert.ok(seen.includes(words), `${words} in ${seen.join(' | ')}`);
  }
});

test('a source that the record lacks is none', () => {
  const run = fixture('accepted');
  const round = run.rounds[0] as Round;
  for (const source of ['fact:9', 'evidence:nobody', 'R99']) {
    assert.equal(sourceOf(run, round, { kind: 'fact', source, start: 0, end: 1 }), null);
  }
});
