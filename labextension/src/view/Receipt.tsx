/** What the run took, what it used, and where its traces are. */
import type { JSX } from 'preact';
import type { Run } from '../run/types';
import { receipts } from './totals';
import { Icon } from './Icon';
import { Words } from './Text';
import { cost, count, plural, seconds } from './words';

export function ReceiptTable({ run }: { run: Run }): JSX.Element {
  const lines = receipts(run.ledger);
  const { usage } = run;
  const uncertain = lines.reduce((total, line) => total + line.uncertain, 0);
  return (
    <section class="rl-receipt" aria-label="Receipt">
      <h3>Receipt</h3>
      <table class="rl-table rl-figures">
        <thead>
          <tr>
            <th scope="col">role</th>
            <th scope="col">calls</th>
            <th scope="col">tokens in</th>
            <th scope="col">tokens out</th>
            <th scope="col">time</th>
            <th scope="col">cost</th>
          </tr>
        </thead>
        <tbody>
          {lines.map(line => (
            <tr key={line.role}>
              <th scope="row">{line.role}</th>
              <td>
                {line.calls}
                {line.attempts > line.calls && ` (${plural(line.attempts, 'attempt')})`}
              </td>
              <td>{count(line.input)}</td>
              <td>{count(line.output)}</td>
              <td>{seconds(line.seconds)}</td>
              <td>{cost(line.cost, line.currency)}</td>
            </tr>
          ))}
        </tbody>
        <tfoot>
          <tr>
            <th scope="row">run</th>
            <td>{usage.calls}</td>
            <td>{count(usage.input_tokens)}</td>
            <td>{count(usage.output_tokens)}</td>
            <td>{seconds(usage.seconds)}</td>
            <td>{cost(usage.cost, usage.currency)}</td>
          </tr>
        </tfoot>
      </table>
      {uncertain > 0 && (
        <p class="rl-note">
          <Icon name="warning" /> {plural(uncertain, 'attempt')} may have been charged although no usage arrived.
        </p>
      )}
    </section>
  );
}

/** Models, prompts, identity: what somebody needs who wants to repeat or to find the run. */
export function Origin({ run, traces }: { run: Run; traces: string | null }): JSX.Element {
  return (
    <section class="rl-origin" aria-label="Origin">
      <h3>Origin</h3>
      <dl class="rl-pairs">
        {byRole(run.models).map(([role, model]) => (
          <Pair name={role}>
            <Words text={model.requested} />
            {model.answered !== null && model.answered !== model.requested && (
              <>
                {' '}
                (answered by <Words text={model.answered} />)
              </>
            )}
            {model.endpoint !== null && (
              <span class="rl-quiet">
                {' at '}
                <Words text={model.endpoint} />
              </span>
            )}
          </Pair>
        ))}
        {byRole(run.prompts).map(([role, prompt]) => (
          <Pair name={`${role} prompt`}>
            <Words text={prompt.name} /> <code class="rl-quiet">{prompt.sha256.slice(0, 8)}</code>
          </Pair>
        ))}
        <Pair name="traces">{traces === null ? 'place not recorded' : <Words text={traces} class="rl-mono" />}</Pair>
        <Pair name="run">
          <Words text={run.run_id} class="rl-mono" />
        </Pair>
        {run.started_at !== null && (
          <Pair name="started">
            <Words text={run.started_at} />
          </Pair>
        )}
        {run.preset !== null && (
          <Pair name="preset">
            <Words text={run.preset} />
          </Pair>
        )}
        {Object.entries(run.tags).map(([name, value]) => (
          <Pair name={name}>
            <Words text={value} />
          </Pair>
        ))}
      </dl>
    </section>
  );
}

const ROLES = ['generator', 'critic', 'reviewer'];

/** In one order, whatever order the keys have: saving a notebook sorts them. */
function byRole<T>(parts: Record<string, T>): [string, T][] {
  const place = (role: string): number => (ROLES.includes(role) ? ROLES.indexOf(role) : ROLES.length);
  return Object.entries(parts).sort(([one], [other]) => place(one) - place(other));
}

function Pair({ name, children }: { name: string; children: preact.ComponentChildren }): JSX.Element {
  return (
    <div>
      <dt>
        <Words text={name} />
      </dt>
      <dd>{children}</dd>
    </div>
  );
}
