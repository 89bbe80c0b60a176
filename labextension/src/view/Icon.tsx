/** Small drawn signs, so that nothing is told by colour alone. They are hidden from screen readers: words stand beside. */
import type { JSX } from 'preact';

const PATHS = {
  check: 'M3.5 8.5l3 3 6-7',
  cross: 'M4.5 4.5l7 7m0-7l-7 7',
  person: 'M8 7.5a2.5 2.5 0 100-5 2.5 2.5 0 000 5zm-4.5 6c.3-2.6 2-4 4.5-4s4.2 1.4 4.5 4',
  octagon: 'M5.7 2.5h4.6l3.2 3.2v4.6l-3.2 3.2H5.7l-3.2-3.2V5.7zM5.5 8h5',
  slash: 'M8 2.5a5.5 5.5 0 100 11 5.5 5.5 0 000-11zM4.2 4.2l7.6 7.6',
  warning: 'M8 2.5l6 11H2zM8 6.5v3m0 1.9v.1',
  dash: 'M4 8h8',
  info: 'M8 2.5a5.5 5.5 0 100 11 5.5 5.5 0 000-11zM8 7.5v3.5m0-5.9v.1',
  question: 'M6 6.2C6 4.9 6.9 4 8.1 4s2 .8 2 1.9c0 1.7-2.1 1.7-2.1 3.4m0 2.6v.1',
  stop: 'M4.5 4.5h7v7h-7z',
  back: 'M6 3.5L3 6.5l3 3M3.3 6.5H10a3 3 0 010 6H7',
  dot: 'M8 6.5a1.5 1.5 0 100 3 1.5 1.5 0 000-3z',
  plus: 'M8 4v8M4 8h8',
  running: 'M8 2.5a5.5 5.5 0 1 0 5.5 5.5'
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name, class: extra = '' }: { name: IconName; class?: string }): JSX.Element {
  return (
    <svg class={`rl-icon rl-icon-${name} ${extra}`} viewBox="0 0 16 16" aria-hidden="true" focusable="false">
      <path d={PATHS[name]} />
    </svg>
  );
}
