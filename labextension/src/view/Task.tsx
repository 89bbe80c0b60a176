/** What was asked, folded away: the reader mostly knows it. */
import type { JSX } from 'preact';
import type { Task as Asked } from '../run/types';
import { plainLabel } from './codepoints';
import { Block, NO_MATH, Words } from './Text';
import { plural } from './words';

export function Task({ task }: { task: Asked }): JSX.Element {
  const parts = [
    task.requirements.length > 0 && plural(task.requirements.length, 'requirement'),
    task.facts.length > 0 && plural(task.facts.length, 'fact'),
    task.checks.length > 0 && plural(task.checks.length, 'check')
  ].filter(Boolean);
  return (
    <details class="rl-more rl-task">
      <summary>
        Task: <span class={`rl-task-line ${NO_MATH}`}>{plainLabel(task.text, 80)}</span>{' '}
        <span class="rl-quiet">{parts.length > 0 && `· ${parts.join(', ')}`}</span>
      </summary>
      <Block text={task.text} />
      <dl class="rl-pairs">
        {task.requirements.map(each => (
          <div>
            <dt>
              <Words text={each.id} />
            </dt>
            <dd>
              <Words text={each.text} />
            </dd>
          </div>
        ))}
        {task.facts.map(each => (
          <div>
            <dt>fact {each.index}</dt>
            <dd>
              <Words text={each.text} />
            </dd>
          </div>
        ))}
        {task.checks.map(each => (
          <div>
            <dt>check</dt>
            <dd>
              <Words text={each.name} />{' '}
              <span class="rl-quiet">
                <Words text={[each.kind, each.gate ? 'gate' : '', ...each.requirements].filter(Boolean).join(', ')} />
              </span>
            </dd>
          </div>
        ))}
      </dl>
    </details>
  );
}
