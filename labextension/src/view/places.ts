/** Where in a draft an issue or a finding points. Lines are counted from 1, as people do. */
import type { Issue, Location } from '../run/types';

export interface Lines {
  from: number;
  to: number;
}

/** The lines of a draft that a location names; None where it names no lines. */
export function linesAt(location: Location | null, draft: string): Lines | null {
  if (location === null || location.value === null) {
    return null;
  }
  if (location.kind === 'line' || location.kind === 'lines') {
    const [from, to] = location.value.split('-').map(Number);
    const isRange = from !== undefined && Number.isInteger(from) && from > 0;
    return isRange ? { from, to: to !== undefined && to >= from ? to : from } : null;
  }
  if (location.kind === 'quote') {
    const at = draft.indexOf(location.value);
    if (at < 0 || location.value === '') {
      return null;
    }
    const from = draft.slice(0, at).split('\n').length;
    return { from, to: from + location.value.trimEnd().split('\n').length - 1 };
  }
  return null;
}

/** The worst severity that points at each line of a draft. */
export function marksByLine(issues: Issue[], draft: string): Map<number, Issue['severity']> {
  const worst: Issue['severity'][] = ['blocking', 'major', 'minor'];
  const marks = new Map<number, Issue['severity']>();
  for (const issue of issues) {
    const lines = linesAt(issue.location, draft);
    // A quote or range over half the draft marks nothing that a reader could look at.
    if (lines === null || lines.to - lines.from > 40) {
      continue;
    }
    for (let line = lines.from; line <= lines.to; line += 1) {
      const known = marks.get(line);
      if (known === undefined || worst.indexOf(issue.severity) < worst.indexOf(known)) {
        marks.set(line, issue.severity);
      }
    }
  }
  return marks;
}

/** A location in words, such as "line 9" or "at $.items[2]"; None where there is nothing to say. */
export function placeWords(location: Location | null): string | null {
  if (location === null) {
    return null;
  }
  const { kind, value } = location;
  if (kind === 'whole') {
    return 'the whole draft';
  }
  if (value === null || value === '') {
    return kind;
  }
  if (kind === 'quote') {
    return `at “${value}”`;
  }
  return kind === null ? value : `${kind} ${value}`;
}
