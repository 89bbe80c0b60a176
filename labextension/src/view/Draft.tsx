/** The draft of a round: what changed against its parent, or the whole of it, with the lines that issues point at. */
import type { JSX } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { Candidate, Issue, Round, Run } from '../run/types';
import { changes, foldUnchanged, rowsOf, wholeRows, type Block as DiffBlock, type Row } from './diff';
import { marksByLine } from './places';
import { Block, Clipped, Marked, NO_MATH } from './Text';
import { count, plural } from './words';

/** A line that was asked for from elsewhere; `asked` tells two requests for one line apart. */
export interface Target {
  line: number;
  asked: number;
}

/** Rows beyond this number wait for a click: a page with many thousand rows is slow everywhere. */
const MOST_ROWS = 600;
const LONGEST_LINE = 20_000;

export function Draft({ run, round, target }: { run: Run; round: Round; target: Target | null }): JSX.Element {
  const { draft } = round;
  const parent = run.rounds.find(each => each.draft.index === draft.parent)?.draft ?? null;
  const hasDiff = parent !== null && draft.diff !== null;
  const [wantsWhole, setWantsWhole] = useState(false);
  const isWhole = !hasDiff || wantsWhole;
  const rows = useMemo(
    () => (isWhole || parent === null ? wholeRows(draft.text) : rowsOf(parent.text, draft.text, draft.diff ?? [])),
    [draft, parent, isWhole]
  );
  const { added, removed } = changes(rows);
  return (
    <section class="rl-draft" aria-label={`Draft ${draft.index}`}>
      <div class="rl-section-head">
        <h3>Draft {draft.index}</h3>
        {!isWhole && (
          <span class="rl-quiet">
            against draft {draft.parent}: <span class="rl-good">+{added}</span>{' '}
            <span class="rl-bad">−{removed}</span> {plural(added + removed, 'line').replace(/^\S+ /, '')}
          </span>
        )}
        {round.others.length > 0 && (
          <span class="rl-quiet">
            chosen from {round.others.length + 1} candidates (select: {run.policy.rules.select})
          </span>
        )}
        {draft.truncated && <span class="rl-badge rl-badge-warn">cut off</span>}
        {hasDiff && (
          <button
            type="button"
            class="rl-button rl-button-small rl-push"
            aria-pressed={wantsWhole}
            onClick={() => setWantsWhole(!wantsWhole)}
          >
            Whole draft
          </button>
        )}
      </div>
      <Rows
        rows={rows}
        isFolded={!isWhole}
        isCode={run.task.language !== null}
        issues={round.critique?.issues ?? []}
        text={draft.text}
        target={target}
      />
      <Apart round={round} />
    </section>
  );
}

function Rows({ rows, isFolded, isCode, issues, text, target }: {
  rows: Row[];
  isFolded: boolean;
  isCode: boolean;
  issues: Issue[];
  text: string;
  target: Target | null;
}): JSX.Element {
  const [most, setMost] = useState(MOST_ROWS);
  const table = useRef<HTMLTableElement>(null);
  const points = useMemo(() => marksByLine(issues, text), [issues, text]);
  useEffect(() => {
    if (target !== null) {
      const row = table.current?.querySelector<HTMLElement>(`tr[data-line="${target.line}"]`);
      row?.scrollIntoView({ block: 'nearest' });
      row?.focus({ preventScroll: true });
    }
  }, [target]);
  if (rows.length === 0 || text === '') {
    return <p class="rl-empty">The draft is empty.</p>;
  }
  const shownRows = rows.slice(0, most);
  const blocks: DiffBlock[] = isFolded ? foldUnchanged(shownRows) : [{ kind: 'rows', rows: shownRows }];
  const line = (row: Row): JSX.Element => (
    <Line row={row} hasOld={isFolded} severity={row.newLine === null ? undefined : points.get(row.newLine)} />
  );
  return (
    <div class={`rl-paper ${isCode ? 'rl-code' : 'rl-prose'}`}>
      <table ref={table} class="rl-rows">
        {blocks.map(block =>
          block.kind === 'rows' ? (
            <tbody>{block.rows.map(line)}</tbody>
          ) : (
            <Fold rows={block.rows} line={line} wanted={target} />
          )
        )}
      </table>
      {rows.length > most && (
        <button type="button" class="rl-button rl-fold" onClick={() => setMost(most + 10 * MOST_ROWS)}>
          Show more ({count(rows.length - most)} lines are left)
        </button>
      )}
    </div>
  );
}

function Fold({ rows, line, wanted }: {
  rows: Row[];
  line: (row: Row) => JSX.Element;
  wanted: Target | null;
}): JSX.Element {
  const [isOpen, setOpen] = useState(false);
  const holdsWanted = wanted !== null && rows.some(row => row.newLine === wanted.line);
  if (isOpen || holdsWanted) {
    return <tbody>{rows.map(line)}</tbody>;
  }
  return (
    <tbody>
      <tr>
        <td colSpan={4} class="rl-fold-cell">
          <button type="button" class="rl-button rl-fold" onClick={() => setOpen(true)}>
            Show {plural(rows.length, 'unchanged line')}
          </button>
        </td>
      </tr>
    </tbody>
  );
}

const SIGNS: Record<Row['kind'], string> = { same: '', removed: '−', added: '+' };

function Line({ row, hasOld, severity }: {
  row: Row;
  hasOld: boolean;
  severity: Issue['severity'] | undefined;
}): JSX.Element {
  const [isLong, setLong] = useState(row.text.length > LONGEST_LINE);
  const words = <Marked text={isLong ? row.text.slice(0, LONGEST_LINE) : row.text} marks={row.marks} />;
  return (
    <tr
      class={`rl-row rl-${row.kind} ${severity === undefined ? '' : `rl-points rl-${severity}`}`}
      data-line={row.newLine ?? undefined}
      tabIndex={row.newLine === null ? undefined : -1}
    >
      {hasOld && <td class="rl-no">{row.oldLine}</td>}
      <td class="rl-no rl-point" title={severity === undefined ? undefined : `a ${severity} issue points here`}>
        {row.newLine}
      </td>
      {hasOld && <td class="rl-sign">{SIGNS[row.kind]}</td>}
      <td class={`rl-line ${NO_MATH}`} dir="auto">
        {row.kind === 'removed' ? <del>{words}</del> : row.kind === 'added' ? <ins>{words}</ins> : words}
        {isLong && (
          <button type="button" class="rl-button rl-button-small" onClick={() => setLong(false)}>
            Show {count(row.text.length - LONGEST_LINE)} more characters of this line
          </button>
        )}
      </td>
    </tr>
  );
}

/** What came with the draft and is no part of it. */
function Apart({ round }: { round: Round }): JSX.Element {
  const { draft } = round;
  return (
    <>
      {draft.refused !== null && (
        <div class="rl-note">
          <span class="rl-label">The model refused</span> <Clipped text={draft.refused} />
        </div>
      )}
      {draft.ambiguous !== null && (
        <div class="rl-note">
          <span class="rl-label">Which part is the draft?</span> <Clipped text={draft.ambiguous} />
        </div>
      )}
      {draft.patch_failed !== null && (
        <div class="rl-note">
          <span class="rl-label">The patch did not apply</span> <Clipped text={draft.patch_failed} />
        </div>
      )}
      {round.others.map(other => (
        <details class="rl-more" key={other.draft.candidate}>
          <summary>Candidate {other.draft.candidate}, not chosen{checked(other)}</summary>
          <Block text={other.draft.text} />
        </details>
      ))}
      {draft.raw !== null && (
        <details class="rl-more">
          <summary>The reply as it came (draft taken by rule “{draft.extraction}”)</summary>
          <Block text={draft.raw} />
        </details>
      )}
      {draft.reasoning !== null && (
        <details class="rl-more">
          <summary>Reasoning (kept apart, sent to nobody)</summary>
          <Block text={draft.reasoning} />
        </details>
      )}
    </>
  );
}

/** How a candidate's checks went, in a few words. */
function checked(other: Candidate): string {
  if (other.evidence === null) {
    return ': not checked';
  }
  const failed = other.evidence.filter(each => each.status !== 'passed');
  return failed.length === 0 ? '' : `: ${failed.map(each => `${each.source} ${each.status.replaceAll('_', ' ')}`).join(', ')}`;
}
