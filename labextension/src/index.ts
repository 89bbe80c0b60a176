/** The JupyterLab extension. Runs are shown by the MIME renderer and the widget; this adds what belongs to the lab. */
import type { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { ICommandPalette } from '@jupyterlab/apputils';

const FOCUS_RUN = 'reflect-lab:focus-run';

/** Puts the focus on the next run of the visible page, after the one that holds it now. */
function focusNextRun(root: ParentNode, active: Element | null): boolean {
  const runs = [...root.querySelectorAll<HTMLElement>('.rl-run')].filter(run => run.offsetParent !== null);
  const now = runs.findIndex(run => run.contains(active));
  const next = runs[(now + 1) % runs.length];
  const tab = next?.querySelector<HTMLElement>('[role=tab][aria-selected=true]');
  const place = tab ?? next?.querySelector<HTMLElement>('button, summary') ?? null;
  place?.focus();
  place?.scrollIntoView({ block: 'nearest' });
  return place !== null;
}

const plugin: JupyterFrontEndPlugin<void> = {
  id: 'reflect-lab:plugin',
  description: 'Commands for reflection runs.',
  autoStart: true,
  optional: [ICommandPalette],
  activate: (app: JupyterFrontEnd, palette: ICommandPalette | null) => {
    app.commands.addCommand(FOCUS_RUN, {
      label: 'Go to the Next Reflection Run',
      describedBy: { args: { type: 'object', properties: {} } },
      execute: () => focusNextRun(document, document.activeElement)
    });
    palette?.addItem({ command: FOCUS_RUN, category: 'Reflect Lab' });
  }
};

export default plugin;
