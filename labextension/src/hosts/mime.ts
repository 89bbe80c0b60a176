/** The saved output's host: a renderer for `application/vnd.reflectlab.run+json`, needing no kernel and no network. */
import type { IRenderMime } from '@jupyterlab/rendermime-interfaces';
import { Widget } from '@lumino/widgets';
import { parseSaved } from '../run/parse';
import { mount, type View } from '../view/mount';
import { EMPTY, type ViewState } from '../view/state';

export const MIME_TYPE = 'application/vnd.reflectlab.run+json';

function stateOf(data: unknown): ViewState {
  try {
    return { ...EMPTY, ...parseSaved(data) };
  } catch (error) {
    return { ...EMPTY, problem: error instanceof Error ? error.message : String(error) };
  }
}

export class RunOutput extends Widget implements IRenderMime.IRenderer {
  private view: View | null = null;

  constructor(private readonly mimeType: string) {
    super();
    this.addClass('rl-output');
  }

  /** Also called again when the output is updated in place. */
  renderModel(model: IRenderMime.IMimeModel): Promise<void> {
    const state = stateOf(model.data[this.mimeType]);
    if (this.view === null) {
      this.view = mount(this.node, state, { stop: null, answer: null });
    } else {
      this.view.update(state);
    }
    return Promise.resolve();
  }

  override dispose(): void {
    this.view?.unmount();
    this.view = null;
    super.dispose();
  }
}

const extension: IRenderMime.IExtension = {
  id: 'reflect-lab:run-output',
  description: 'Shows a reflection run that is saved in a notebook.',
  rendererFactory: {
    // Text reaches the page as text nodes only, so an untrusted notebook may be shown.
    safe: true,
    mimeTypes: [MIME_TYPE],
    createRenderer: options => new RunOutput(options.mimeType)
  },
  // Below the rank of HTML, so that this form is shown where both are there.
  rank: 0,
  dataType: 'json'
};

export default extension;
