// The inline content of a paragraph: code, emphasis, links. Each character is visited a bounded number of times.

export type Inline =
  | { kind: "text"; text: string }
  | { kind: "code"; text: string }
  | { kind: "strong"; children: Inline[] }
  | { kind: "em"; children: Inline[] }
  | { kind: "strike"; children: Inline[] }
  | { kind: "link"; href: string; children: Inline[] };

/** A parsed part, and where the text continues. */
type Hit = readonly [Inline, number];

const SPECIAL = /`+|[*_~[\\]|https?:|mailto:/g;
const ADDRESS = /(?:https?|mailto):[^\s<>"'`)\]]+[^\s<>"'`)\].,;:!?]/y;
const TARGET = /\(([^()\s]+)\)/y;
const ESCAPED = /\\([\\`*_{}[\]()#+\-.!|~>])/y;

/** Only links to pages or mail addresses; anything else stays text. */
const SAFE = /^(?:https?:|mailto:)/i;

/** Finds the next position of something, starting from the last one: positions are requested in ascending order. */
class Places {
  #at = 0;

  constructor(private readonly places: readonly number[]) {}

  from(position: number): number | undefined {
    while (this.#at < this.places.length && this.places[this.#at]! < position) this.#at += 1;
    return this.places[this.#at];
  }
}

/** Where marks can end, found in one pass each and only when the string has the mark. */
class Ends {
  readonly #known = new Map<string, Places>();

  constructor(private readonly text: string) {}

  /** The first position from `position` on where this mark can end, if there is one. */
  of(mark: string, position: number): number | undefined {
    let places = this.#known.get(mark);
    if (!places) {
      places = new Places(mark.startsWith("`") ? this.#runs(mark.length) : this.#closers(mark));
      this.#known.set(mark, places);
    }
    return places.from(position);
  }

  /** Runs of exactly this many backticks. All lengths are found together: there may be many. */
  #runs(length: number): readonly number[] {
    const byLength = new Map<number, number[]>();
    for (const run of this.text.matchAll(/`+/g)) {
      const places = byLength.get(run[0].length);
      if (places) places.push(run.index);
      else byLength.set(run[0].length, [run.index]);
    }
    for (const [other, places] of byLength) {
      const name = "`".repeat(other);
      if (other !== length && !this.#known.has(name)) this.#known.set(name, new Places(places));
    }
    return byLength.get(length) ?? [];
  }

  #closers(mark: string): readonly number[] {
    const found: number[] = [];
    for (let at = this.text.indexOf(mark); at !== -1; at = this.text.indexOf(mark, at + 1)) {
      const closes = mark === "]" || mark === "\n" || /\S/.test(this.text[at - 1] ?? " ");
      const open = mark.startsWith("_") && /\w/.test(this.text[at + mark.length] ?? "");
      if (closes && !open) found.push(at);
    }
    return found;
  }
}

export function inlines(text: string): Inline[] {
  const found: Inline[] = [];
  const say = (more: string): void => {
    const last = found.at(-1);
    if (last?.kind === "text") last.text += more;
    else if (more) found.push({ kind: "text", text: more });
  };
  const ends = new Ends(text);
  let at = 0;
  while (at < text.length) {
    SPECIAL.lastIndex = at;
    const next = SPECIAL.exec(text);
    if (!next) break;
    say(text.slice(at, next.index));
    const hit = marked(text, next.index, next[0], ends);
    if (!hit) {
      // A run of backticks that is never closed is plain text.
      at = next.index + (next[0].startsWith("`") ? next[0].length : 1);
      say(text.slice(next.index, at));
      continue;
    }
    if (hit[0].kind === "text") say(hit[0].text);
    else found.push(hit[0]);
    at = hit[1];
  }
  say(text.slice(at));
  return found;
}

/** The part that begins at this position, if one does. */
function marked(text: string, at: number, special: string, ends: Ends): Hit | undefined {
  switch (special[0]) {
    case "`":
      return coded(text, at, special, ends);
    case "*":
      return spanned(text, at, "**", ends) ?? single(text, at, "*");
    case "_":
      if (/\w/.test(text[at - 1] ?? "")) return undefined;
      return spanned(text, at, "__", ends) ?? single(text, at, "_");
    case "~":
      return spanned(text, at, "~~", ends);
    case "[":
      return linked(text, at, ends);
    case "\\":
      return matched(ESCAPED, text, at, (match) => ({ kind: "text", text: match[1]! }));
    default:
      return matched(ADDRESS, text, at, ([href]) => ({ kind: "link", href, children: [{ kind: "text", text: href }] }));
  }
}

function matched(pattern: RegExp, text: string, at: number, read: (match: RegExpExecArray) => Inline): Hit | undefined {
  pattern.lastIndex = at;
  const match = pattern.exec(text);
  return match ? [read(match), pattern.lastIndex] : undefined;
}

function coded(text: string, at: number, run: string, ends: Ends): Hit | undefined {
  const begin = at + run.length;
  const end = ends.of(run, begin);
  if (end === undefined) return undefined;
  return [{ kind: "code", text: text.slice(begin, end).replace(/^ (.*) $/, "$1") }, end + run.length];
}

/** A mark of two characters, up to the first position where it can end. */
function spanned(text: string, at: number, mark: string, ends: Ends): Hit | undefined {
  const begin = at + mark.length;
  if (!text.startsWith(mark, at) || !/\S/.test(text[begin] ?? " ")) return undefined;
  const end = ends.of(mark, begin + 1);
  if (end === undefined) return undefined;
  const kind = mark === "~~" ? "strike" : "strong";
  return [{ kind, children: inlines(text.slice(begin, end)) }, end + mark.length];
}

/** A mark of one character: it ends at the next occurrence of the character, or not at all. */
function single(text: string, at: number, mark: string): Hit | undefined {
  const begin = at + 1;
  const end = text.indexOf(mark, begin);
  if (end <= begin || /\s/.test(text[begin]!) || /\s/.test(text[end - 1]!)) return undefined;
  const after = text[end + 1] ?? "";
  if (mark === "*" ? after === "*" : /\w/.test(after)) return undefined;
  return [{ kind: "em", children: inlines(text.slice(begin, end)) }, end + 1];
}

function linked(text: string, at: number, ends: Ends): Hit | undefined {
  const end = ends.of("]", at + 1);
  const line = ends.of("\n", at + 1);
  if (end === undefined || end === at + 1 || (line !== undefined && line < end)) return undefined;
  TARGET.lastIndex = end + 1;
  const target = TARGET.exec(text);
  if (!target || !SAFE.test(target[1]!)) return undefined;
  const next = TARGET.lastIndex;
  return [{ kind: "link", href: target[1]!, children: inlines(text.slice(at + 1, end)) }, next];
}
