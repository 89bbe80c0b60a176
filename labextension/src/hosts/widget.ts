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
  // The dictionary was made by the Python half of this widget.
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

interface Delta {
  type: 'text';
  delta: string;
  seq: number;
}

function isDelta(message: unknown): message is Delta {
  const { type, delta, seq } = (message ?? {}) as Record<string, unknown>;
  return type === 'text' && typeof delta === 'string' && typeof seq === 'number';
}

/** The live state with one more piece of streamed text; null when the message adds nothing. */
export function withDelta(live: Live, message: unknown): Live | null {
  if (!isDelta(message) || message.seq <= live.seq) {
    return null;
  }
  // A view that opened late has missed pieces: say so until the whole text comes again.
  const gap = message.seq > live.seq + 1 ? '…' : '';
  return { ...live, text: live.text + gap + message.delta, seq: message.seq };
}

function render({ model, el }: { model: Model; el: HTMLElement }): () => void {
  let state = stateOf(model);
  let frame: number | null = null;
  const view = mount(el, state, {
    stop: () => model.send({ type: 'stop' }),
    answer: (mayRun, asked) => model.send({ type: 'answer', may_run: mayRun, asked })
  });
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
  const onMessage = (message: unknown): void => {
    const live = state.live === null ? null : withDelta(state.live, message);
    if (live !== null) {
      state = { ...state, live };
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
