/** Whether anybody looked at a draft, and who did not. */
import type { Round } from '../run/types';

/**
 * Whether "0 blocking" says something about a round's draft: there is a valid critique or, where no critic was asked, a
 * check that ran. What nobody looked at must not look clean.
 */
export function isJudged(round: Round): boolean {
  const validity = round.critique?.validity;
  const ran = (round.evidence ?? []).some(piece => piece.status === 'passed' || piece.status === 'failed');
  return validity === 'ok' || (validity === 'not_asked' && ran);
}

/** The checks that were to look at a round's draft and did not, or came to no verdict. */
export function unchecked(round: Round): string[] {
  const pieces = (round.evidence ?? []).filter(piece => piece.status === 'not_run' || piece.status === 'error');
  return pieces.map(piece => piece.source);
}
