/**
 * Text as the record counts it and as a person must see it.
 *
 * Python counts code points, JavaScript UTF-16 units: every offset of a document goes through `CodePoints`.
 */

export interface Span {
  start: number;
  end: number;
}

/** Code point offsets of one text, turned into its UTF-16 offsets. */
export class CodePoints {
  private readonly isPlain: boolean;

  constructor(readonly text: string) {
    // Without surrogates the two counts agree, which is nearly always so.
    this.isPlain = !/[\ud800-\udfff]/.test(text);
  }

  /** The UTF-16 offset of a code point offset, kept within the text. */
  toUtf16(offset: number): number {
    if (this.isPlain || offset <= 0) {
      return Math.max(0, Math.min(offset, this.text.length));
    }
    let units = 0;
    for (let seen = 0; seen < offset && units < this.text.length; seen += 1) {
      units += (this.text.codePointAt(units) ?? 0) > 0xffff ? 2 : 1;
    }
    return units;
  }

  slice(start: number, end: number): string {
    return this.text.slice(this.toUtf16(start), this.toUtf16(end));
  }
}

/** A piece of text that is shown as it is, or a character that would hide or reorder others, by its name. */
export type Piece = { kind: 'plain'; text: string } | { kind: 'hidden'; char: string; name: string };

const NAMES: Record<string, string> = {
  '\u0000': 'NUL', '\u0007': 'BEL', '\u0008': 'BS', '\u000b': 'VT', '\u000c': 'FF', '\r': 'CR', '\u001b': 'ESC',
  '\u007f': 'DEL', '\u00ad': 'SHY', '\u061c': 'ALM', '\u200b': 'ZWSP', '\u200c': 'ZWNJ', '\u200d': 'ZWJ',
  '\u200e': 'LRM', '\u200f': 'RLM', '\u2028': 'LS', '\u2029': 'PS', '\u202a': 'LRE', '\u202b': 'RLE',
  '\u202c': 'PDF', '\u202d': 'LRO', '\u202e': 'RLO', '\u2060': 'WJ', '\u2066': 'LRI', '\u2067': 'RLI',
  '\u2068': 'FSI', '\u2069': 'PDI', '\ufeff': 'BOM'
};

/* The same characters as the static renderings name: controls but tab and line feed, format characters, separators,
   fillers, noncharacters, lone surrogates, tags, and variation selectors that can carry hidden bytes. */
const HIDDEN = new RegExp(
  '[\\u0000-\\u0008\\u000b-\\u001f\\u007f-\\u009f\\u00ad\\u034f\\u061c\\u115f\\u1160\\u17b4\\u17b5\\u180b-\\u180f' +
    '\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f\\u3164\\ufeff\\uffa0\\ufdd0-\\ufdef\\ufff0-\\ufffb\\ufffe\\uffff' +
    '\\ud800-\\udfff\\u{1bca0}-\\u{1bca3}\\u{1d173}-\\u{1d17a}\\u{e0000}-\\u{e0fff}]' +
    '|(?<=[\\ufe00-\\ufe0f])[\\ufe00-\\ufe0f]',
  'gu'
);
const JOINERS = /[\u200c\u200d]/;
const LAST_LATIN = 0x2ff;

function nameOf(char: string): string {
  const code = (char.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0');
  return NAMES[char] ?? `U+${code}`;
}

/** Whether a joiner stands between two characters of scripts, or emoji, that need it. */
function isNeeded(text: string, at: number): boolean {
  const before = [...text.slice(Math.max(0, at - 2), at)].pop();
  const after = text.codePointAt(at + 1);
  if (before === undefined || after === undefined) {
    return false;
  }
  return [before, String.fromCodePoint(after)].every(
    char => (char.codePointAt(0) ?? 0) > LAST_LATIN && char.search(HIDDEN) < 0
  );
}

/** The text in pieces; joined, they are the text again. */
export function pieces(text: string): Piece[] {
  const found: Piece[] = [];
  let from = 0;
  for (const match of text.matchAll(HIDDEN)) {
    if (JOINERS.test(match[0]) && isNeeded(text, match.index)) {
      continue;
    }
    if (match.index > from) {
      found.push({ kind: 'plain', text: text.slice(from, match.index) });
    }
    found.push({ kind: 'hidden', char: match[0], name: nameOf(match[0]) });
    from = match.index + match[0].length;
  }
  if (from < text.length) {
    found.push({ kind: 'plain', text: text.slice(from) });
  }
  return found;
}

/** One line of plain text for places that hold nothing else (labels, titles): hidden characters by their names. */
export function plainLabel(text: string, limit = 120): string {
  const shown = pieces(text.slice(0, limit * 4))
    .map(piece => (piece.kind === 'plain' ? piece.text : `[${piece.name}]`))
    .join('')
    .replace(/\s+/g, ' ')
    .trim();
  return shown.length > limit ? `${shown.slice(0, limit - 1)}…` : shown;
}

/** The lines of a text as hunks count them: split at line feeds alone, with an empty one after a last line feed. */
export function linesOf(text: string): string[] {
  return text.split('\n');
}

export interface Excerpt {
  before: string;
  quote: string;
  after: string;
  cutBefore: boolean;
  cutAfter: boolean;
}

/** The quoted span of a source with a little of what stands around it. Offsets are code points. */
export function excerpt(source: string, span: Span, around = 60, longest = 500): Excerpt | null {
  const points = new CodePoints(source);
  const start = points.toUtf16(span.start);
  const end = points.toUtf16(span.end);
  if (span.end <= span.start || end <= start) {
    return null;
  }
  const from = wordStart(source, Math.max(0, start - around), start);
  const to = wordEnd(source, Math.min(source.length, end + around), end);
  const quote = source.slice(start, end);
  return {
    before: source.slice(from, start),
    quote: quote.length > longest ? `${quote.slice(0, longest)}…` : quote,
    after: quote.length > longest ? '' : source.slice(end, to),
    cutBefore: from > 0,
    cutAfter: to < source.length
  };
}

function wordStart(text: string, from: number, limit: number): number {
  let at = from;
  while (at > 0 && at < limit && /\S/.test(text[at - 1] ?? '')) {
    at += 1;
  }
  return at;
}

function wordEnd(text: string, to: number, limit: number): number {
  let at = to;
  while (at < text.length && at > limit && /\S/.test(text[at] ?? '')) {
    at -= 1;
  }
  return at;
}
