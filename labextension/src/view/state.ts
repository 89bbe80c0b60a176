/** What the view shows and what it can ask of its host. Hosts fill this in; the view knows no host. */
import type { Run } from '../run/types';

/** A loop that is running now. `text` is what streamed of the present answer; `elapsed` is in seconds. */
export interface Live {
  step: string;
  text: string;
  elapsed: number | null;
  can_stop: boolean;
  buttons_off_reason: string | null;
  /** How many streamed pieces `text` already holds. */
  seq: number;
  /** Whether a live model's code may run once with process limits only; null while nothing is asked. */
  question?: string | null;
  /** The question's number, which its answer carries. */
  asked?: number;
}

export interface ViewState {
  run: Run | null;
  live: Live | null;
  traces: string | null;
  leftOut: string[];
  /** Why there is nothing to show, in one sentence. */
  problem: string | null;
}

export interface Actions {
  stop: (() => void) | null;
  /** Answers the question of a running loop. */
  answer: ((mayRun: boolean, asked: number) => void) | null;
}

export const EMPTY: ViewState = { run: null, live: null, traces: null, leftOut: [], problem: null };
