/** Text that a model or a tool wrote: always text nodes, never markup, with hidden characters made visible. */
import type { ComponentChildren, JSX } from 'preact';
import { useState } from 'preact/hooks';
import { pieces, type Span } from './codepoints';
import { count } from './words';

/** MathJax leaves elements of these classes alone: a formula can hold a link. */
export const NO_MATH = 'tex2jax_ignore mathjax_ignore';

function shown(text: string): ComponentChildren {
  return pieces(text).map(piece =>
    piece.kind === 'plain' ? (
      piece.text
    ) : (
      <span class="rl-hidden" title={`hidden character ${piece.name}`}>
        {piece.name}
      </span>
    )
  );
}

/** Text in a line of other things. */
export function Words({ text, class: name = '' }: { text: string; class?: string }): JSX.Element {
  return (
    <span class={`rl-words ${NO_MATH} ${name}`} dir="auto">
      {shown(text)}
    </span>
  );
}

/** A text with some of its parts marked. `marks` are UTF-16 spans in order. */
export function Marked({ text, marks }: { text: string; marks: Span[] }): JSX.Element {
  const parts: ComponentChildren[] = [];
  let at = 0;
  for (const mark of marks) {
    const start = Math.max(at, mark.start);
    if (mark.end <= start) {
      continue;
    }
    parts.push(shown(text.slice(at, start)), <mark class="rl-mark">{shown(text.slice(start, mark.end))}</mark>);
    at = mark.end;
  }
  parts.push(shown(text.slice(at)));
  return <>{parts}</>;
}

/** Text in a line of other things that may be far too long for it: the rest comes on demand. */
export function Clipped({ text, limit = 500, class: name = '' }: {
  text: string;
  limit?: number;
  class?: string;
}): JSX.Element {
  const [isWhole, setWhole] = useState(false);
  if (isWhole || text.length <= limit) {
    return <Words text={text} class={name} />;
  }
  return (
    <>
      <Words text={`${text.slice(0, limit)}…`} class={name} />{' '}
      <button type="button" class="rl-link" onClick={() => setWhole(true)}>
        show {count(text.length - limit)} more characters
      </button>
    </>
  );
}

/** A block of text as it stands, cut after `limit` characters until the reader asks for all of it. */
export function Block({ text, limit = 4000, class: name = '' }: {
  text: string;
  limit?: number;
  class?: string;
}): JSX.Element {
  const [isWhole, setWhole] = useState(false);
  const isCut = !isWhole && text.length > limit;
  return (
    <>
      <pre class={`rl-block ${NO_MATH} ${name}`} dir="auto" tabIndex={0}>
        {shown(isCut ? text.slice(0, limit) : text)}
        {isCut && '…'}
      </pre>
      {isCut && (
        <button type="button" class="rl-button rl-button-small" onClick={() => setWhole(true)}>
          Show {count(text.length - limit)} more characters
        </button>
      )}
    </>
  );
}
