/** One run, live or saved. Hosts mount it through `mount`; it imports nothing of any host. */
import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { Round, Run } from '../run/types';
import { Banner } from './Banner';
import { Draft, type Target } from './Draft';
import { EvidenceList } from './Evidence';
import { Icon } from './Icon';
import { Issues } from './Issues';
import { Ledger } from './Ledger';
import { Origin, ReceiptTable } from './Receipt';
import type { Actions, Live, ViewState } from './state';
import { Task } from './Task';
import { Clipped, NO_MATH, Words } from './Text';
import { panelId, tabId, Timeline } from './Timeline';
import { pieces } from './codepoints';

export function RunView({ state, actions, uid }: { state: ViewState; actions: Actions; uid: string }): JSX.Element {
  const { run, live, problem } = state;
  if (problem !== null) {
    return <Problem message={problem} />;
  }
  return (
    <article class="rl-view" aria-label="Reflection run">
      <Banner run={run} live={live} actions={actions} />
      {run !== null && <Notices run={run} leftOut={state.leftOut} />}
      {run !== null && <Task task={run.task} />}
      {live !== null && live.text !== '' && <Stream live={live} />}
      {run !== null && run.rounds.length > 0 && <Rounds run={run} isLive={live !== null} uid={uid} />}
      {run !== null && live === null && (
        <footer class="rl-foot">
          <ReceiptTable run={run} />
          <Origin run={run} traces={state.traces} />
        </footer>
      )}
    </article>
  );
}

export function Problem({ message }: { message: string }): JSX.Element {
  return (
    <article class="rl-view" aria-label="Reflection run">
      <p class="rl-problem" role="alert">
        <Icon name="warning" /> <Words text={message} />
      </p>
    </article>
  );
}

/** Where a reader starts: the draft that was returned, else the newest. */
function firstShown(run: Run): number {
  const returned = run.rounds.findIndex(round => round.draft.index === run.outcome?.draft_index);
  return returned >= 0 ? returned : run.rounds.length - 1;
}

function Rounds({ run, isLive, uid }: { run: Run; isLive: boolean; uid: string }): JSX.Element {
  const [chosen, setChosen] = useState<number | null>(null);
  const [target, setTarget] = useState<Target | null>(null);
  const usual = isLive ? run.rounds.length - 1 : firstShown(run);
  const at = Math.min(chosen ?? usual, run.rounds.length - 1);
  const round = run.rounds[at] as Round;
  const select = (next: number): void => {
    // Whoever goes to the newest round of a live run follows it again.
    setChosen(isLive && next === run.rounds.length - 1 ? null : next);
    setTarget(null);
  };
  return (
    <>
      <Timeline run={run} uid={uid} selected={at} onSelect={select} />
      <div id={panelId(uid)} class="rl-panel" role="tabpanel" aria-labelledby={tabId(uid, at)} tabIndex={0}>
        {round.decision !== null && (
          <p class="rl-decision">
            <span class="rl-label">{round.decision.action === 'stop' ? 'Decided to stop:' : 'Decided to revise:'}</span>{' '}
            <Clipped text={round.decision.message} />
          </p>
        )}
        <div class="rl-columns" key={round.index}>
          <Draft run={run} round={round} target={target} />
          <Issues run={run} at={at} onPlace={line => setTarget({ line, asked: (target?.asked ?? 0) + 1 })} />
          <EvidenceList run={run} at={at} />
        </div>
      </div>
      <Ledger run={run} />
    </>
  );
}

/** The answer that is being written; it keeps to its end unless the reader scrolled up. */
function Stream({ live }: { live: Live }): JSX.Element {
  const box = useRef<HTMLPreElement>(null);
  const follows = useRef(true);
  useEffect(() => {
    if (box.current !== null && follows.current) {
      box.current.scrollTop = box.current.scrollHeight;
    }
  }, [live.text]);
  const onScroll = (): void => {
    const { scrollTop = 0, scrollHeight = 0, clientHeight = 0 } = box.current ?? {};
    follows.current = scrollHeight - scrollTop - clientHeight < 24;
  };
  // Only the end is drawn: a long answer would cost more with each token.
  const text = live.text.slice(-8000);
  return (
    <section class="rl-stream" aria-label="The answer so far">
      <pre ref={box} class={`rl-block ${NO_MATH}`} tabIndex={0} dir="auto" onScroll={onScroll}>
        {live.text.length > text.length && '… '}
        {pieces(text).map(piece => (piece.kind === 'plain' ? piece.text : `[${piece.name}]`))}
        <span class="rl-caret" />
      </pre>
    </section>
  );
}

function Notices({ run, leftOut }: { run: Run; leftOut: string[] }): JSX.Element | null {
  if (run.notices.length + leftOut.length === 0) {
    return null;
  }
  return (
    <ul class="rl-notices" aria-label="Notices">
      {run.notices.map(notice => (
        <li>
          <Icon name="info" />
          <span>
            <span class="rl-label">
              <Words text={notice.kind.replaceAll('_', ' ')} />
            </span>{' '}
            <Clipped text={notice.message} />
          </span>
        </li>
      ))}
      {leftOut.map(part => (
        <li>
          <Icon name="info" />
          <span>
            <span class="rl-label">left out here</span> <Words text={part} />
          </span>
        </li>
      ))}
    </ul>
  );
}
