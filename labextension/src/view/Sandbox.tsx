/** Where evidence was executed: how the code was held, under which limits, and who made the verdict. */
import type { JSX } from 'preact';
import type { Evidence as Piece, Sandbox } from '../run/types';
import { Icon } from './Icon';
import { Words } from './Text';
import { limits, property, REACH } from './words';

type Pair = [string, string];

/**
 * Where everything ran that did run, if it is one place, so that it is said once: of several verdicts the weakest
 * counts, and the limits are left out where they differ.
 */
export function commonPlace(evidence: Piece[]): Sandbox | null {
  const placed = evidence.filter(piece => piece.sandbox !== null);
  const ran = placed.filter(piece => piece.executions > 0);
  const places = (ran.length > 0 ? ran : placed).flatMap(piece => (piece.sandbox === null ? [] : [piece.sandbox]));
  const [first] = places;
  if (first === undefined || places.some(each => held(each) !== held(first))) {
    return null;
  }
  const isOne = places.every(each => limits(each.limits) === limits(first.limits));
  const weakest = (['in_process', 'split'] as const).find(of => places.some(each => each.verdict_integrity === of));
  return { ...first, limits: isOne ? first.limits : {}, verdict_integrity: weakest ?? null };
}

function held({ level, name, abi, selftest }: Sandbox): string {
  return JSON.stringify([level, name, abi, selftest]);
}

/** The level and who made the verdict; what the level means and the limits, on demand. */
export function Where({ sandbox, isRun }: { sandbox: Sandbox; isRun: boolean }): JSX.Element {
  const reach = isRun ? REACH[sandbox.level] : undefined;
  const pairs: Pair[] = [];
  if (Object.keys(sandbox.limits).length > 0) {
    pairs.push(['limits', limits(sandbox.limits)]);
  }
  if (sandbox.selftest !== null) {
    pairs.push(['self-test', sandbox.selftest]);
  }
  if (sandbox.abi !== null) {
    pairs.push(['Landlock ABI', String(sandbox.abi)]);
  }
  if (reach === undefined && pairs.length === 0) {
    return (
      <p class="rl-where">
        <Level sandbox={sandbox} isRun={isRun} />
      </p>
    );
  }
  return (
    <details class="rl-where">
      <summary>
        <Level sandbox={sandbox} isRun={isRun} />
      </summary>
      {reach !== undefined && <p>{reach}</p>}
      <Pairs pairs={pairs} />
    </details>
  );
}

function Level({ sandbox, isRun }: { sandbox: Sandbox; isRun: boolean }): JSX.Element {
  return (
    <>
      <span class="rl-label">Sandbox level {sandbox.level}</span> <Words text={sandbox.name} />
      {isRun && sandbox.verdict_integrity === 'split' && ' · the verdict was made outside of it'}
      {isRun && sandbox.verdict_integrity === 'in_process' && (
        <span class="rl-warn">
          {' · '}
          <Icon name="warning" /> the asserts ran beside the code under test, which could have forged the verdict
        </span>
      )}
    </>
  );
}

/** What else is known of an execution, in words; hashes, which nobody reads, last. */
export function Provenance({ piece, place }: { piece: Piece; place: Sandbox | null }): JSX.Element | null {
  const isHash = ([name]: Pair): boolean => name.endsWith('sha256');
  const all = Object.entries(piece.provenance);
  const pairs = [...all.filter(each => !isHash(each)), ...all.filter(isHash)].map(([name, value]) => property(name, value));
  const own = limits(piece.sandbox?.limits ?? {});
  const isSaid = place === null || own === '' || own === limits(place.limits);
  return <Pairs pairs={isSaid ? pairs : [['limits', own], ...pairs]} />;
}

function Pairs({ pairs }: { pairs: Pair[] }): JSX.Element | null {
  if (pairs.length === 0) {
    return null;
  }
  return (
    <dl class="rl-pairs">
      {pairs.map(([name, value]) => (
        <div>
          <dt>
            <Words text={name} />
          </dt>
          <dd>
            <Words text={value} />
          </dd>
        </div>
      ))}
    </dl>
  );
}
