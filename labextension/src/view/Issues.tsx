/** What stands against the draft of a round: kept issues with the evidence they quote, solved ones, discarded ones. */
import type { JSX } from 'preact';
import type { Critique, Discarded, Issue, Location, Round, Run } from '../run/types';
import { isNotRecorded } from '../run/parse';
import { Icon, type IconName } from './Icon';
import { issueHistory, sourceOf, type Fate } from './history';
import { unchecked } from './judged';
import { linesAt, placeWords } from './places';
import { excerpt } from './codepoints';
import { Clipped, NO_MATH, Words } from './Text';
import { VALIDITY_WORDS, type Severity } from './words';

const SEVERITY_ICONS: Record<Severity, IconName> = { blocking: 'cross', major: 'warning', minor: 'info' };

export const FATE_WORDS: Record<Fate, string> = {
  new: 'new',
  kept: 'still open',
  solved: 'solved',
  back: 'back again',
  absent: '',
  unknown: 'not looked at'
};

export function Issues({ run, at, onPlace }: {
  run: Run;
  at: number;
  onPlace: (line: number) => void;
}): JSX.Element | null {
  const round = run.rounds[at];
  if (round === undefined) {
    return null;
  }
  const history = issueHistory(run.rounds.slice(0, at + 1));
  const fates = new Map(history.map(line => [line.key, line.fates[at] ?? 'absent']));
  const solved = history.filter(line => line.fates[at] === 'solved');
  const issues = round.critique?.issues ?? [];
  const discarded = round.critique?.discarded ?? [];
  return (
    <section class="rl-issues" aria-label="Issues">
      <div class="rl-section-head">
        <h3>Issues</h3>
        <span class="rl-quiet">{round.critique === null ? '' : `${issues.length} kept, ${discarded.length} discarded`}</span>
      </div>
      <CritiqueState run={run} at={at} critique={round.critique} open={unchecked(round)} />
      <ul class="rl-list">
        {issues.map(issue => (
          <Kept key={issue.id} run={run} round={round} issue={issue} fate={fates.get(issue.key)} onPlace={onPlace} />
        ))}
        {solved.map(line => (
          <li class="rl-issue rl-solved">
            <span class="rl-good rl-severity">
              <Icon name="check" /> solved
            </span>{' '}
            <Words text={line.issue.id} /> <span class="rl-quiet">{sourceWords(line.issue.source)}</span>
          </li>
        ))}
        {discarded.map(issue => (
          <Dropped issue={issue} />
        ))}
      </ul>
    </section>
  );
}

/** What is to be said where no issue stands; `open` are the checks without a verdict. */
function CritiqueState({ run, at, critique, open }: {
  run: Run;
  at: number;
  critique: Critique | null;
  open: string[];
}): JSX.Element | null {
  if (critique === null) {
    const words = isNotRecorded(run, `/rounds/${at}/critique`)
      ? 'The critique was not recorded.'
      : run.outcome === null
        ? 'No critique yet.'
        : 'There is no critique of this draft.';
    return <p class="rl-empty">{words}</p>;
  }
  const wasAsked = run.ledger.some(row => row.role === 'critic' && row.round === at);
  const isUnanswered = critique.validity === 'not_asked' && wasAsked;
  const problem = isUnanswered ? 'The critic was asked and gave no answer.' : VALIDITY_WORDS[critique.validity];
  if (problem !== undefined) {
    return (
      <p class="rl-note">
        <Icon name={critique.validity === 'not_asked' ? 'info' : 'warning'} /> {problem}{' '}
        {critique.problem !== null && <Words text={critique.problem} />}
      </p>
    );
  }
  if (critique.issues.length + critique.discarded.length === 0 && open.length > 0) {
    return (
      <p class="rl-note">
        <Icon name="info" /> Nothing was raised, and not everything was checked: <Words text={open.join(', ')} />
      </p>
    );
  }
  if (critique.issues.length + critique.discarded.length === 0) {
    return (
      <p class="rl-empty">
        <Icon name="check" /> The checks and the critic raised nothing.
      </p>
    );
  }
  return null;
}

function sourceWords(source: string): string {
  return source === 'critic' ? 'from the critic' : `from check ${source}`;
}

function Kept({ run, round, issue, fate, onPlace }: {
  run: Run;
  round: Round;
  issue: Issue;
  fate: Fate | undefined;
  onPlace: (line: number) => void;
}): JSX.Element {
  const isWithheld = round.feedback?.withheld.includes(issue.id) === true;
  return (
    <li class={`rl-issue rl-${issue.severity}`}>
      <div class="rl-issue-head">
        <span class="rl-severity">
          <Icon name={SEVERITY_ICONS[issue.severity]} /> {issue.severity}
        </span>
        <b class="rl-id">
          <Words text={issue.id} />
        </b>
        {fate !== undefined && fate !== 'absent' && <span class={`rl-badge rl-fate-${fate}`}>{FATE_WORDS[fate]}</span>}
        {isWithheld && <span class="rl-badge">held back by the cap</span>}
      </div>
      <div class="rl-quiet">
        <Words text={sourceWords(issue.source)} />
        <Place location={issue.location} draft={round.draft.text} onPlace={onPlace} />
      </div>
      <Requirement run={run} issue={issue} />
      <Evidence run={run} round={round} issue={issue} />
      {issue.suggestion !== '' && (
        <p class="rl-suggestion">
          <span class="rl-label">Suggestion</span> <Clipped text={issue.suggestion} />
        </p>
      )}
    </li>
  );
}

function Place({ location, draft, onPlace }: {
  location: Location | null;
  draft: string;
  onPlace: (line: number) => void;
}): JSX.Element | null {
  const words = placeWords(location);
  if (words === null) {
    return null;
  }
  const lines = linesAt(location, draft);
  return (
    <>
      {' · '}
      {lines === null ? (
        <Words text={words} />
      ) : (
        <button type="button" class="rl-link" onClick={() => onPlace(lines.from)}>
          <Words text={location?.kind === 'quote' ? `line ${lines.from}` : words} />
        </button>
      )}
    </>
  );
}

function Requirement({ run, issue }: { run: Run; issue: Issue }): JSX.Element | null {
  const known = run.task.requirements.find(each => each.id === issue.requirement);
  // A quoted requirement is shown with the quote below.
  if (issue.requirement === null || issue.ground?.source === issue.requirement) {
    return null;
  }
  return (
    <p class="rl-requirement">
      <span class="rl-chip">
        <Words text={issue.requirement} />
      </span>{' '}
      {known !== undefined && <Words text={known.text} />}
    </p>
  );
}

/** The ground: the quoted span within its source, else the issue's own words. */
function Evidence({ run, round, issue }: { run: Run; round: Round; issue: Issue }): JSX.Element | null {
  const { ground } = issue;
  if (ground?.kind === 'absent') {
    return (
      <Quote title="stands in the draft and in no source">
        <mark class="rl-mark">
          <Words text={issue.evidence} />
        </mark>
      </Quote>
    );
  }
  const source = ground === null ? null : sourceOf(run, round, ground);
  if (ground === null || source === null) {
    return issue.evidence === '' ? null : (
      <Quote title={ground === null ? 'no ground recorded' : `quotes ${ground.source}`}>
        <Clipped text={issue.evidence} />
      </Quote>
    );
  }
  const part = ground.start === null || ground.end === null ? null : excerpt(source.text, { start: ground.start, end: ground.end });
  if (part === null) {
    return (
      <Quote title={`names ${source.name}`}>
        <Words text={source.text.slice(0, 400)} />
      </Quote>
    );
  }
  return (
    <Quote title={`quotes ${source.name}`}>
      {part.cutBefore && '… '}
      <Words text={part.before} />
      <mark class="rl-mark">
        <Words text={part.quote} />
      </mark>
      <Words text={part.after} />
      {part.cutAfter && ' …'}
    </Quote>
  );
}

function Quote({ title, children }: { title: string; children: preact.ComponentChildren }): JSX.Element {
  return (
    <figure class="rl-quote">
      <figcaption>
        <Words text={title} />
      </figcaption>
      <blockquote class={NO_MATH}>{children}</blockquote>
    </figure>
  );
}

function Dropped({ issue }: { issue: Discarded }): JSX.Element {
  return (
    <li class="rl-issue rl-discarded">
      <div class="rl-issue-head">
        <span class="rl-severity">
          <Icon name="slash" /> discarded
        </span>
        <s>
          <Words text={`${issue.severity} ${issue.id}`} />
        </s>
      </div>
      <p>
        <span class="rl-label">Why</span> <Clipped text={issue.reason} />
      </p>
      {issue.evidence !== '' && (
        <s>
          <Clipped text={issue.evidence} />
        </s>
      )}
      {issue.suggestion !== '' && (
        <p>
          <s>
            <Clipped text={issue.suggestion} />
          </s>
        </p>
      )}
    </li>
  );
}
