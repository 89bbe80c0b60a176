/** Whether anybody looked at a draft. */
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
