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
  '\u007f': 'DEL', '\u00ad': 'SHY', '\u061c': 'ALM', '\u200b': 'ZWSP', '\u200e': 'LRM', '\u200f': 'RLM',
  '\u202a': 'LRE', '\u202b': 'RLE', '\u202c': 'PDF', '\u202d': 'LRO', '\u202e': 'RLO', '\u2066': 'LRI',
  '\u2067': 'RLI', '\u2068': 'FSI', '\u2069': 'PDI', '\ufeff': 'BOM', '\u2028': 'LS', '\u2029': 'PS', '\u2060': 'WJ'
};

/* Controls except tab and line feed, format characters except the joiners that scripts and emoji need, line and
   paragraph separators, tag characters, and lone surrogates. */
const HIDDEN =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]|(?![\u200c\u200d])\p{Cf}|[\u2028\u2029\u115f\u1160\u3164\uffa0]|\p{Cs}/gu;

function nameOf(char: string): string {
  const code = (char.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0');
  return NAMES[char] ?? `U+${code}`;
}

/** The text in pieces; joined, they are the text again. */
export function pieces(text: string): Piece[] {
  const found: Piece[] = [];
  let from = 0;
  for (const match of text.matchAll(HIDDEN)) {
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

/** The lines of a text, split where Python's side splits them: at line feeds alone. */
export function linesOf(text: string): string[] {
  const lines = text.split('\n');
  if (lines.length > 1 && lines[lines.length - 1] === '') {
    lines.pop();
  }
  return lines;
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
