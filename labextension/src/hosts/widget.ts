/** The live host: an anywidget whose traits are the run and what the loop is doing now. */
import { parseSaved } from '../run/parse';
import { mount } from '../view/mount';
import { EMPTY, type Live, type ViewState } from '../view/state';

/** The part of anywidget's model that this host uses. */
export interface Model {
  get: (name: 'run' | 'live' | 'traces') => unknown;
  on: (event: string, callback: (...values: never[]) => void) => void;
  off: (event: string, callback: (...values: never[]) => void) => void;
  send: (content: unknown) => void;
}

function liveOf(value: unknown): Live | null {
  return typeof value === 'object' && value !== null ? (value as Live) : null;
}

function stateOf(model: Model): ViewState {
  const live = liveOf(model.get('live'));
  const run = model.get('run');
  if (run === null || run === undefined) {
    return { ...EMPTY, live };
  }
  try {
    return { ...EMPTY, ...parseSaved({ run, traces: model.get('traces') }), live };
  } catch (error) {
    return { ...EMPTY, problem: error instanceof Error ? error.message : String(error) };
  }
}

function render({ model, el }: { model: Model; el: HTMLElement }): () => void {
  let state = stateOf(model);
  let frame: number | null = null;
  const view = mount(el, state, { stop: () => model.send({ type: 'stop' }) });
  const draw = (): void => {
    frame = null;
    view.update(state);
  };
  // Many deltas may come within one frame; the page is drawn once for all of them.
  const drawSoon = (): void => {
    frame ??= requestAnimationFrame(draw);
  };
  const onChange = (): void => {
    state = stateOf(model);
    drawSoon();
  };
  const onMessage = (message: { type?: unknown; delta?: unknown }): void => {
    if (message?.type === 'text' && typeof message.delta === 'string' && state.live !== null) {
      state = { ...state, live: { ...state.live, text: state.live.text + message.delta } };
      drawSoon();
    }
  };
  const listeners = [
    ['change:run', onChange],
    ['change:live', onChange],
    ['change:traces', onChange],
    ['msg:custom', onMessage]
  ] as const;
  for (const [event, listener] of listeners) {
    model.on(event, listener);
  }
  return () => {
    if (frame !== null) {
      cancelAnimationFrame(frame);
    }
    for (const [event, listener] of listeners) {
      model.off(event, listener);
    }
    view.unmount();
  };
}

export default { render };
