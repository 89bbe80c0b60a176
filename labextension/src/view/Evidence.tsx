/** What was found out about a draft, by whom, how grounded it is and where it ran. */
import type { JSX } from 'preact';
import type { Evidence as Piece, Finding, Run, Sandbox } from '../run/types';
import { isNotRecorded } from '../run/parse';
import { Icon, type IconName } from './Icon';
import { placeWords } from './places';
import { commonPlace, Provenance, Where } from './Sandbox';
import { Block, Clipped, Words } from './Text';
import { FINDING_WORDS, plural, RANK_WORDS, seconds, STATUS_WORDS } from './words';

const STATUS_ICONS: Record<string, IconName> = {
  passed: 'check',
  failed: 'cross',
  error: 'warning',
  denied: 'slash',
  not_run: 'dash',
  advisory: 'info'
};

/** Findings that passed are folded where there are more than this many. */
const FEW = 6;

export function EvidenceList({ run, at }: { run: Run; at: number }): JSX.Element {
  const evidence = run.rounds[at]?.evidence ?? null;
  const place = commonPlace(evidence ?? []);
  return (
    <section class="rl-evidence" aria-label="Evidence">
      <div class="rl-section-head">
        <h3>Evidence</h3>
        {evidence !== null && evidence.length > 0 && <span class="rl-quiet">{summary(evidence)}</span>}
      </div>
      {evidence === null && (
        <p class="rl-empty">
          {isNotRecorded(run, `/rounds/${at}/evidence`) ? 'Evidence was not recorded.' : run.outcome === null ? 'No evidence yet.' : 'No evidence was gathered.'}
        </p>
      )}
      {evidence !== null && evidence.length === 0 && <p class="rl-empty">No check ran on this draft.</p>}
      {place !== null && <Where sandbox={place} isRun={isRun(evidence ?? [])} />}
      <ul class="rl-list rl-pieces">
        {(evidence ?? []).map(piece => (
          <EvidencePiece key={piece.source} piece={piece} place={place} />
        ))}
      </ul>
    </section>
  );
}

/** Whether code of the draft was executed: a syntax gate compiles it in its sandbox and runs nothing of it. */
function isRun(evidence: Piece[]): boolean {
  return evidence.some(piece => piece.sandbox !== null && piece.executions > 0 && piece.rank === 'executed');
}

function summary(evidence: Piece[]): string {
  const passed = evidence.filter(piece => piece.status === 'passed').length;
  return `${passed} of ${plural(evidence.length, 'source')} passed`;
}

/** What passed takes one line that opens; the rest is open: it is what the reader has to know. */
function EvidencePiece({ piece, place }: { piece: Piece; place: Sandbox | null }): JSX.Element {
  const kind = `rl-piece rl-status-${piece.status}`;
  if (piece.status === 'passed') {
    return (
      <li class={kind}>
        <details class="rl-fold-piece">
          <summary class="rl-piece-head">
            <PieceHead piece={piece} />
          </summary>
          <PieceBody piece={piece} place={place} isOpen />
        </details>
      </li>
    );
  }
  return (
    <li class={kind}>
      <div class="rl-piece-head">
        <PieceHead piece={piece} />
      </div>
      <PieceBody piece={piece} place={place} isOpen={false} />
    </li>
  );
}

function PieceHead({ piece }: { piece: Piece }): JSX.Element {
  return (
    <>
      <span class="rl-status">
        <Icon name={STATUS_ICONS[piece.status] ?? 'question'} /> {STATUS_WORDS[piece.status] ?? piece.status}
      </span>
      <b class="rl-id">
        <Words text={piece.source} />
      </b>
      <span class="rl-quiet">
        {RANK_WORDS[piece.rank]}
        {piece.gate && ', gate'}
        {piece.executions > 1 && `, run ${piece.executions} times`}
      </span>
      {piece.provenance['trust'] !== undefined && <span class="rl-quiet">trusted, not confined</span>}
      {piece.requirements.map(id => (
        <span class="rl-chip">
          <Words text={id} />
        </span>
      ))}
      <span class="rl-quiet rl-push">{piece.executions > 0 && seconds(piece.seconds)}</span>
    </>
  );
}

function PieceBody({ piece, place, isOpen }: { piece: Piece; place: Sandbox | null; isOpen: boolean }): JSX.Element {
  const isKnown = Object.keys(piece.provenance).length > 0;
  const isShort = piece.text.length < 200 && (isOpen || (piece.findings.length === 0 && !isKnown));
  return (
    <>
      {piece.sandbox !== null && place === null && <Where sandbox={piece.sandbox} isRun={isRun([piece])} />}
      <Findings findings={piece.findings} />
      {isShort && piece.text !== '' && (
        <p class="rl-report">
          <Words text={piece.text} />
        </p>
      )}
      {!isShort && (
        <details class="rl-more">
          <summary>Report{isKnown && ' and how it was made'}</summary>
          {piece.text === '' ? <p class="rl-empty">The report is empty.</p> : <Block text={piece.text} />}
          <Provenance piece={piece} place={place} />
        </details>
      )}
      {isShort && <Provenance piece={piece} place={place} />}
    </>
  );
}

function Findings({ findings }: { findings: Finding[] }): JSX.Element | null {
  if (findings.length === 0) {
    return null;
  }
  const others = findings.filter(finding => finding.status !== 'passed');
  const passed = findings.filter(finding => finding.status === 'passed');
  if (findings.length <= FEW) {
    return <FindingList findings={findings} />;
  }
  return (
    <>
      {others.length > 0 && <FindingList findings={others} />}
      {passed.length > 0 && (
        <details class="rl-more">
          <summary>{plural(passed.length, 'finding')} passed</summary>
          <FindingList findings={passed} />
        </details>
      )}
    </>
  );
}

function FindingList({ findings }: { findings: Finding[] }): JSX.Element {
  return (
    <ul class="rl-findings">
      {findings.map(finding => {
        const place = placeWords(finding.location);
        return (
          <li class={`rl-status-${finding.status}`}>
            <span class="rl-status">
              <Icon name={STATUS_ICONS[finding.status] ?? 'question'} />
              <span class="rl-aside">{FINDING_WORDS[finding.status] ?? finding.status}</span>
            </span>
            <span class="rl-finding">
              <Words text={finding.id} class="rl-id" /> <Clipped text={finding.message} class="rl-mono" />{' '}
              {place !== null && (
                <span class="rl-quiet">
                  <Words text={place} />
                </span>
              )}
            </span>
          </li>
        );
      })}
    </ul>
  );
}
