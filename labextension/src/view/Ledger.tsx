/** Every issue over the rounds: new, still open, solved, back again. */
import type { JSX } from 'preact';
import type { Run } from '../run/types';
import { Icon, type IconName } from './Icon';
import { issueHistory, type Fate } from './history';
import { FATE_WORDS } from './Issues';
import { Words } from './Text';

const FATE_ICONS: Record<Fate, IconName | null> = {
  new: 'plus',
  kept: 'dot',
  solved: 'check',
  back: 'back',
  absent: null,
  unknown: 'question'
};

export function Ledger({ run }: { run: Run }): JSX.Element | null {
  const lines = issueHistory(run.rounds);
  if (lines.length === 0 || run.rounds.length < 2) {
    return null;
  }
  return (
    <section class="rl-ledger" aria-label="Issues over the rounds">
      <h3>Issues over the rounds</h3>
      <table class="rl-table">
        <thead>
          <tr>
            <th scope="col">issue</th>
            {run.rounds.map(round => (
              <th scope="col">round {round.index}</th>
            ))}
          </tr>
        </thead>
        <tbody>
          {lines.map(line => (
            <tr key={line.key}>
              <th scope="row">
                <Words text={line.issue.id} /> <span class="rl-quiet">{line.issue.severity}</span>
              </th>
              {line.fates.map(fate => (
                <td class={`rl-fate-${fate}`}>
                  {FATE_ICONS[fate] !== null && <Icon name={FATE_ICONS[fate]} />} {FATE_WORDS[fate]}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
