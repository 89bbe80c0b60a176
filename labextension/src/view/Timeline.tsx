/** The rounds as tabs: what each was worth and what it took. Arrow keys move, Home and End jump. */
import type { JSX } from 'preact';
import { useRef } from 'preact/hooks';
import type { Round, Run } from '../run/types';
import { isNotRecorded } from '../run/parse';
import { Icon } from './Icon';
import { isJudged, unchecked } from './judged';
import { count, MODE_WORDS, score, seconds, totalTokens } from './words';

export function tabId(uid: string, index: number): string {
  return `${uid}-tab-${index}`;
}

export function panelId(uid: string): string {
  return `${uid}-panel`;
}

const MOVES: Record<string, (at: number, last: number) => number> = {
  ArrowRight: (at, last) => Math.min(at + 1, last),
  ArrowLeft: at => Math.max(at - 1, 0),
  Home: () => 0,
  End: (_at, last) => last
};

export function Timeline({ run, uid, selected, onSelect }: {
  run: Run;
  uid: string;
  selected: number;
  onSelect: (at: number) => void;
}): JSX.Element {
  const list = useRef<HTMLDivElement>(null);
  const onKeyDown = (event: KeyboardEvent): void => {
    const move = MOVES[event.key];
    if (move === undefined || event.ctrlKey || event.metaKey || event.altKey) {
      return;
    }
    event.preventDefault();
    const next = move(selected, run.rounds.length - 1);
    onSelect(next);
    list.current?.querySelectorAll<HTMLElement>('[role=tab]')[next]?.focus();
  };
  return (
    <div ref={list} class="rl-timeline" role="tablist" aria-label="Rounds" onKeyDown={onKeyDown}>
      {run.rounds.map((round, at) => (
        <button
          type="button"
          key={round.index}
          id={tabId(uid, at)}
          role="tab"
          class="rl-tab"
          aria-selected={at === selected}
          aria-controls={panelId(uid)}
          tabIndex={at === selected ? 0 : -1}
          // A notebook has commands on single keys, the arrows too: they must not take a focused tab's keys. It looks
          // for this attribute from the focused element upwards, so that it must stand here.
          data-lm-suppress-shortcuts="true"
          onClick={() => onSelect(at)}
        >
          <Tab run={run} round={round} at={at} />
        </button>
      ))}
    </div>
  );
}

function Tab({ run, round, at }: { run: Run; round: Round; at: number }): JSX.Element {
  const tokens = totalTokens(round.usage.input_tokens, round.usage.output_tokens);
  const isReturned = run.outcome?.draft_index === round.draft.index;
  return (
    <>
      <span class="rl-tab-head">
        <span class="rl-tab-name">Round {round.index}</span>
        <span class="rl-quiet">{MODE_WORDS[round.draft.mode]}</span>
        {isReturned && <span class="rl-badge">returned</span>}
      </span>
      <Score round={round} />
      <span class="rl-tab-facts">
        <Problems run={run} round={round} at={at} />
        <span>{tokens === null ? 'tokens unknown' : `${count(tokens)} tokens`}</span>
        <span>{seconds(round.usage.seconds)}</span>
      </span>
    </>
  );
}

function Score({ round }: { round: Round }): JSX.Element {
  const value = round.critique?.score ?? null;
  if (value === null) {
    return (
      <span class="rl-score">
        <span class="rl-bar rl-bar-none" />
        <span class="rl-quiet">no score</span>
      </span>
    );
  }
  const kind = round.critique?.score_kind === 'checks' ? 'checks passed' : 'critic score';
  return (
    <span class="rl-score">
      <span class="rl-bar">
        <span style={{ width: `${Math.round(Math.max(0, Math.min(1, value)) * 100)}%` }} />
      </span>
      <span>
        <b>{score(value)}</b> {kind}
      </span>
    </span>
  );
}

function Problems({ run, round, at }: { run: Run; round: Round; at: number }): JSX.Element {
  if (round.critique === null) {
    return <span>{isNotRecorded(run, `/rounds/${at}/critique`) ? 'critique not recorded' : 'no critique'}</span>;
  }
  const blocking = round.critique.issues.filter(issue => issue.severity === 'blocking').length;
  if (blocking === 0 && !isJudged(round)) {
    return <span>not judged</span>;
  }
  const open = unchecked(round).length;
  if (blocking === 0 && open > 0) {
    return <span>0 blocking, {open} not checked</span>;
  }
  return blocking === 0 ? (
    <span class="rl-good">
      <Icon name="check" /> 0 blocking
    </span>
  ) : (
    <span class="rl-bad">
      <Icon name="cross" /> {blocking} blocking
    </span>
  );
}
