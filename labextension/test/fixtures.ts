/** The golden run documents that the Python tests read too. `npm test` runs in the package's folder. */
import { readFileSync } from 'node:fs';
import { parseRun } from '../src/run/parse';
import type { Run } from '../src/run/types';

export const NAMES = ['accepted', 'stalled', 'cancelled', 'error', 'hostile'] as const;

export function fixture(name: (typeof NAMES)[number]): Run {
  return parseRun(JSON.parse(readFileSync(`../tests/fixtures/runs/${name}.json`, 'utf8')));
}
