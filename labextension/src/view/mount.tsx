/** The one door to the view: `mount` shows a state in an element and gives back how to change it and to end it. */
import { Component, render, type ComponentChildren } from 'preact';
import { Problem, RunView } from './RunView';
import type { Actions, ViewState } from './state';

export interface View {
  update: (state: ViewState) => void;
  unmount: () => void;
}

/** A fault of the view is told in words; it must not leave an empty cell. */
class Boundary extends Component<{ children: ComponentChildren }, { fault: string | null }> {
  override state = { fault: null };

  static override getDerivedStateFromError(error: unknown): { fault: string } {
    return { fault: error instanceof Error ? error.message : String(error) };
  }

  override render(): ComponentChildren {
    const { fault } = this.state;
    return fault === null ? this.props.children : <Problem message={`This run can't be shown: ${fault}`} />;
  }
}

export function mount(host: HTMLElement, first: ViewState, actions: Actions): View {
  // Ids must differ between all views of a page, whichever bundle they come from.
  const uid = `rl-${Math.random().toString(36).slice(2, 10)}`;
  const root = host.ownerDocument.createElement('div');
  root.className = 'rl-run';
  host.appendChild(root);
  const update = (state: ViewState): void => {
    render(
      <Boundary>
        <RunView state={state} actions={actions} uid={uid} />
      </Boundary>,
      root
    );
  };
  update(first);
  return {
    update,
    unmount: () => {
      render(null, root);
      root.remove();
    }
  };
}
