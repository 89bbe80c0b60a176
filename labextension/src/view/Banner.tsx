/** How the run ended and why, with the numbers that caused it; while it runs, what it is doing. */
import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { Outcome, Run } from '../run/types';
import { isNotRecorded } from '../run/parse';
import { Icon, type IconName } from './Icon';
import type { Actions, Live } from './state';
import { Clipped, Words } from './Text';
import { cost, count, number, plural, seconds, stopTitle, TONE_WORDS, toneOf, totalTokens, type Tone } from './words';

const TONE_ICONS: Record<Tone, IconName> = {
  accepted: 'check',
  escalated: 'person',
  stopped: 'octagon',
  cancelled: 'slash',
  error: 'cross',
  unknown: 'question',
  running: 'running'
};

export function Banner({ run, live, actions }: { run: Run | null; live: Live | null; actions: Actions }): JSX.Element {
  const tone = toneOf(run, live !== null);
  return (
    <header class={`rl-banner rl-tone-${tone}`} data-tone={tone}>
      <span class="rl-disc">
        <Icon name={TONE_ICONS[tone]} />
      </span>
      <div class="rl-banner-text">
        <div class="rl-banner-top">
          <h2 class="rl-title">{titleOf(run, live)}</h2>
          {tone !== 'running' && <span class="rl-badge rl-badge-tone">{TONE_WORDS[tone]}</span>}
        </div>
        {live === null && run !== null && run.outcome !== null && <Reason run={run} outcome={run.outcome} />}
        {live !== null && <LiveLine live={live} actions={actions} />}
        {live !== null && <Asked live={live} answer={actions.answer} />}
        {run !== null && <Spent run={run} />}
      </div>
    </header>
  );
}

function titleOf(run: Run | null, live: Live | null): string {
  if (live !== null) {
    return 'Running';
  }
  if (run === null) {
    return 'No run yet';
  }
  if (run.outcome === null) {
    return isNotRecorded(run, '/outcome') ? 'How this run ended was not recorded' : 'The record ends before the run did';
  }
  return stopTitle(run.outcome);
}

function Reason({ run, outcome }: { run: Run; outcome: Outcome }): JSX.Element {
  const decision = run.rounds[run.rounds.length - 1]?.decision;
  // By name: a saved notebook has its keys sorted, and must not look different from the run that was just shown.
  const numbers = decision?.action === 'stop' ? Object.entries(decision.numbers).sort(byName) : [];
  return (
    <>
      {outcome.error !== null && (
        <p class="rl-message">
          <span class="rl-label">{outcome.error.kind.replaceAll('_', ' ')}:</span>{' '}
          <Clipped text={outcome.error.message} />
        </p>
      )}
      {outcome.message !== '' && outcome.message !== outcome.error?.message && (
        <p class="rl-message">
          <Clipped text={outcome.message} />
        </p>
      )}
      {outcome.stop_reason === 'no_signal' && outcome.message === '' && (
        <p class="rl-message">
          Add a requirement (<code>- [ ] …</code>) or a check, or run it with <code>--signal optional</code>.
        </p>
      )}
      {numbers.length > 0 && (
        <dl class="rl-numbers" aria-label="The numbers that caused the stop">
          {numbers.map(([name, value]) => (
            <div>
              <dt>
                <Words text={name.replaceAll('_', ' ')} />
              </dt>
              <dd>
                <Words text={number(value)} />
              </dd>
            </div>
          ))}
        </dl>
      )}
      {run.review !== null && (
        <p class="rl-message">
          <Icon name="person" /> Decided by a person: <b>{run.review.action}</b>, <Words text={run.review.reviewer} />,{' '}
          <Words text={run.review.time} /> <Words text={run.review.note} />
        </p>
      )}
      {!outcome.recorded && (
        <p class="rl-message rl-alarm">
          <Icon name="warning" /> The record of this run is not whole: a recording failed.
        </p>
      )}
    </>
  );
}

function byName([one]: [string, unknown], [other]: [string, unknown]): number {
  return one < other ? -1 : 1;
}

function LiveLine({ live, actions }: { live: Live; actions: Actions }): JSX.Element {
  const [isStopping, setStopping] = useState(false);
  const stop = (): void => {
    setStopping(true);
    actions.stop?.();
  };
  return (
    <div class="rl-live-line">
      <p class="rl-message" role="status">
        <Words text={live.step} />
      </p>
      <Clock key={live.step} from={live.elapsed ?? 0} />
      {live.can_stop && actions.stop !== null ? (
        <button type="button" class="rl-button rl-stop" disabled={isStopping} onClick={stop}>
          <Icon name="stop" /> {isStopping ? 'Stopping…' : 'Stop'}
        </button>
      ) : (
        <span class="rl-quiet">
          <Icon name="info" /> <Words text={live.buttons_off_reason ?? 'Buttons are off here; interrupt the kernel.'} />
        </span>
      )}
    </div>
  );
}

/** The present question, if there is one: by its number, so that the next one does not begin as answered. */
function Asked({ live, answer }: { live: Live; answer: Actions['answer'] }): JSX.Element | null {
  const { question, asked = 0 } = live;
  if (!question || answer === null) {
    return null;
  }
  return <Question key={asked} text={question} answer={mayRun => answer(mayRun, asked)} />;
}

/** Milliseconds for which a new question takes no click: one that was meant for what stood there before. */
const TOO_SOON = 400;

/** Asks before a live model's code runs without isolation. Nothing is started before an answer. */
function Question({ text, answer }: { text: string; answer: (mayRun: boolean) => void }): JSX.Element {
  const [isOpen, setOpen] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setOpen(true), TOO_SOON);
    return () => clearTimeout(timer);
  }, []);
  const say = (mayRun: boolean): void => {
    if (isOpen) {
      setOpen(false);
      answer(mayRun);
    }
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key === 'Escape') {
      event.stopPropagation();
      say(false);
    }
  };
  return (
    <div class="rl-question" role="group" aria-label="May this code run?" onKeyDown={onKeyDown}>
      <p class="rl-message" role="alert">
        <Icon name="warning" /> <Words text={text} />
      </p>
      <div class="rl-answers">
        <button type="button" class="rl-button" disabled={!isOpen} onClick={() => say(true)}>
          Run this code once with process limits only
        </button>
        <button type="button" class="rl-button" disabled={!isOpen} onClick={() => say(false)}>
          Don’t run it
        </button>
      </div>
    </div>
  );
}

/** Seconds of the present step, counted here, since no message may come for long. */
function Clock({ from }: { from: number }): JSX.Element {
  const [passed, setPassed] = useState(0);
  useEffect(() => {
    const started = Date.now();
    const timer = setInterval(() => setPassed((Date.now() - started) / 1000), 1000);
    return () => clearInterval(timer);
  }, [from]);
  return <span class="rl-quiet rl-clock">{plural(Math.round(from + passed), 'second')}</span>;
}

function Spent({ run }: { run: Run }): JSX.Element {
  const { usage } = run;
  const tokens = totalTokens(usage.input_tokens, usage.output_tokens);
  const parts = [
    plural(run.rounds.length, 'draft'),
    plural(usage.calls, 'model call'),
    tokens === null ? 'tokens unknown' : `${count(tokens)} tokens`,
    seconds(usage.seconds),
    cost(usage.cost, usage.currency)
  ];
  return (
    <ul class="rl-facts" aria-label="Spent">
      {parts.map(part => (
        <li>{part}</li>
      ))}
      {run.name !== null && (
        <li>
          <Words text={run.name} />
        </li>
      )}
    </ul>
  );
}
