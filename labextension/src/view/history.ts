/** Issues over the rounds: which were solved, kept, are new or came back, by the stable key that code made. */
import type { Ground, Issue, Round, Run } from '../run/types';

/** What became of a key in one round. `unknown`: who raised it did not look at this round's draft, so nobody can say. */
export type Fate = 'new' | 'kept' | 'solved' | 'back' | 'absent' | 'unknown';

export interface Line {
  key: string;
  issue: Issue;
  fates: Fate[];
}

/** One line per key, in the order in which the keys first came up. */
export function issueHistory(rounds: Round[]): Line[] {
  const lines = new Map<string, { issue: Issue; fates: Fate[]; wasOpen: boolean }>();
  rounds.forEach((round, at) => {
    const here = new Map((round.critique?.issues ?? []).map(issue => [issue.key, issue] as const));
    for (const [key, issue] of here) {
      const line = lines.get(key);
      if (line === undefined) {
        lines.set(key, { issue, fates: [...blank(rounds, at), 'new'], wasOpen: true });
        continue;
      }
      line.fates.push(line.wasOpen ? 'kept' : 'back');
      line.issue = issue;
      line.wasOpen = true;
    }
    for (const [key, line] of lines) {
      if (here.has(key)) {
        continue;
      }
      if (!hasLooked(round, line.issue.source)) {
        line.fates.push('unknown');
        continue;
      }
      line.fates.push(line.wasOpen ? 'solved' : 'absent');
      line.wasOpen = false;
    }
  });
  return [...lines].map(([key, line]) => ({ key, issue: line.issue, fates: line.fates }));
}

/** Whether a source of issues looked at a round's draft. A gate that every draft passes leaves no evidence. */
function hasLooked(round: Round, source: string): boolean {
  if (round.critique === null || source === 'critic') {
    return round.critique?.validity === 'ok';
  }
  const piece = round.evidence?.find(each => each.source === source);
  return round.evidence !== null && (piece === undefined || piece.status === 'passed' || piece.status === 'failed');
}

function blank(rounds: Round[], until: number): Fate[] {
  return rounds.slice(0, until).map(round => (round.critique === null ? 'unknown' : 'absent'));
}

export interface Source {
  name: string;
  text: string;
}

/** The text that a ground's offsets point into, by the ground's source; None where the record lacks it. */
export function sourceOf(run: Run, round: Round, ground: Ground): Source | null {
  const { source } = ground;
  if (source === 'task') {
    return { name: 'the task', text: run.task.text };
  }
  if (source === 'draft') {
    return { name: `draft ${round.draft.index}`, text: round.draft.text };
  }
  if (source.startsWith('fact:')) {
    const fact = run.task.facts.find(each => each.index === Number(source.slice('fact:'.length)));
    return fact === undefined ? null : { name: `fact ${fact.index}`, text: fact.text };
  }
  if (source.startsWith('evidence:')) {
    const name = source.slice('evidence:'.length);
    const evidence = round.evidence?.find(each => each.source === name);
    return evidence === undefined ? null : { name: `the report of ${name}`, text: evidence.text };
  }
  const requirement = run.task.requirements.find(each => each.id === source);
  return requirement === undefined ? null : { name: `requirement ${requirement.id}`, text: requirement.text };
}
