// Markdown as a tree of our own. Nothing of a text ever becomes markup; what is not understood stays text.

export type Inline =
  | { kind: "text"; text: string }
  | { kind: "code"; text: string }
  | { kind: "strong"; children: Inline[] }
  | { kind: "em"; children: Inline[] }
  | { kind: "strike"; children: Inline[] }
  | { kind: "link"; href: string; children: Inline[] };

export type Block =
  | { kind: "heading"; level: number; children: Inline[] }
  | { kind: "paragraph"; children: Inline[] }
  | { kind: "code"; language: string; text: string }
  | { kind: "quote"; children: Block[] }
  | { kind: "list"; ordered: boolean; start: number; items: { checked: boolean | undefined; children: Block[] }[] }
  | { kind: "table"; head: Inline[][]; rows: Inline[][][] }
  | { kind: "rule" };

const FENCE = /^ {0,3}(`{3,}|~{3,})\s*([^\s`]*)/;
const HEADING = /^ {0,3}(#{1,6})\s+(.*?)\s*#*\s*$/;
const RULE = /^ {0,3}([-*_])(?:\s*\1){2,}\s*$/;
const ITEM = /^( {0,3})([-*+]|\d{1,9}[.)])(\s+|$)/;
const DIVIDER = /^\s*\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?\s*$/;
const DEPTH_MAX = 8;

export function blocks(text: string, depth = 0): Block[] {
  const lines = text.replaceAll("\r\n", "\n").split("\n");
  const found: Block[] = [];
  let at = 0;
  while (at < lines.length) {
    const line = lines[at]!;
    if (!line.trim()) {
      at += 1;
      continue;
    }
    const [block, next] = depth > DEPTH_MAX ? paragraph(lines, at) : blockAt(lines, at, depth);
    found.push(block);
    at = Math.max(next, at + 1);
  }
  return found;
}

function blockAt(lines: string[], at: number, depth: number): [Block, number] {
  const line = lines[at]!;
  const fence = FENCE.exec(line);
  if (fence) return fenced(lines, at, fence[1]!, fence[2]!);
  const heading = HEADING.exec(line);
  if (heading) return [{ kind: "heading", level: heading[1]!.length, children: inlines(heading[2]!) }, at + 1];
  if (RULE.test(line)) return [{ kind: "rule" }, at + 1];
  if (/^ {0,3}>/.test(line)) return quoted(lines, at, depth);
  if (ITEM.test(line)) return listed(lines, at, depth);
  if (line.includes("|") && DIVIDER.test(lines[at + 1] ?? "") && (lines[at + 1] ?? "").includes("|"))
    return tabled(lines, at);
  return paragraph(lines, at);
}

function fenced(lines: string[], at: number, mark: string, language: string): [Block, number] {
  let end = at + 1;
  const closes = (line: string): boolean =>
    line.trim().startsWith(mark[0]!.repeat(mark.length)) && line.trim().replaceAll(mark[0]!, "") === "";
  while (end < lines.length && !closes(lines[end]!)) end += 1;
  return [{ kind: "code", language, text: lines.slice(at + 1, end).join("\n") }, end + 1];
}

function quoted(lines: string[], at: number, depth: number): [Block, number] {
  let end = at;
  while (end < lines.length && /^ {0,3}>/.test(lines[end]!)) end += 1;
  const inner = lines.slice(at, end).map((line) => line.replace(/^ {0,3}> ?/, ""));
  return [{ kind: "quote", children: blocks(inner.join("\n"), depth + 1) }, end];
}

function listed(lines: string[], at: number, depth: number): [Block, number] {
  const first = ITEM.exec(lines[at]!)!;
  const ordered = /\d/.test(first[2]!);
  const items: { checked: boolean | undefined; children: Block[] }[] = [];
  let end = at;
  while (end < lines.length) {
    const mark = ITEM.exec(lines[end]!);
    if (!mark || /\d/.test(mark[2]!) !== ordered || mark[1]!.length > first[1]!.length + 1) break;
    const indent = mark[0].length;
    const own = [lines[end]!.slice(indent)];
    end += 1;
    while (end < lines.length && belongs(lines, end, indent)) {
      own.push(lines[end]!.replace(new RegExp(`^ {0,${indent}}`), ""));
      end += 1;
    }
    const task = /^\[([ xX])\]\s+/.exec(own[0]!);
    if (task) own[0] = own[0]!.slice(task[0].length);
    items.push({ checked: task ? task[1] !== " " : undefined, children: blocks(own.join("\n"), depth + 1) });
  }
  return [{ kind: "list", ordered, start: ordered ? parseInt(first[2]!, 10) : 1, items }, end];
}

/** Whether a line goes on with an item that is indented this far. */
function belongs(lines: string[], at: number, indent: number): boolean {
  const line = lines[at]!;
  if (!line.trim()) return /^ {2,}\S/.test(lines[at + 1] ?? "") || (lines[at + 1] ?? "").startsWith(" ".repeat(indent));
  if (line.startsWith("  ")) return true;
  return (
    !ITEM.test(line) && !HEADING.test(line) && !FENCE.test(line) && lines[at - 1]!.trim() !== "" && !RULE.test(line)
  );
}

function cells(line: string): Inline[][] {
  const inner = line.trim().replace(/^\||\|$/g, "");
  return inner.split("|").map((cell) => inlines(cell.trim()));
}

function tabled(lines: string[], at: number): [Block, number] {
  let end = at + 2;
  while (end < lines.length && lines[end]!.includes("|") && lines[end]!.trim()) end += 1;
  return [{ kind: "table", head: cells(lines[at]!), rows: lines.slice(at + 2, end).map(cells) }, end];
}

function paragraph(lines: string[], at: number): [Block, number] {
  let end = at + 1;
  while (
    end < lines.length &&
    lines[end]!.trim() &&
    !FENCE.test(lines[end]!) &&
    !HEADING.test(lines[end]!) &&
    !ITEM.test(lines[end]!) &&
    !/^ {0,3}>/.test(lines[end]!)
  )
    end += 1;
  return [{ kind: "paragraph", children: inlines(lines.slice(at, end).join("\n")) }, end];
}

const MARKS: readonly (readonly [RegExp, (match: RegExpExecArray) => Inline | undefined])[] = [
  [/^(`+)([\s\S]*?[^`])\1(?!`)/, (match) => ({ kind: "code", text: match[2]!.replace(/^ (.*) $/, "$1") })],
  [/^\*\*(?=\S)([\s\S]*?\S)\*\*/, (match) => ({ kind: "strong", children: inlines(match[1]!) })],
  [/^__(?=\S)([\s\S]*?\S)__(?!\w)/, (match) => ({ kind: "strong", children: inlines(match[1]!) })],
  [/^~~(?=\S)([\s\S]*?\S)~~/, (match) => ({ kind: "strike", children: inlines(match[1]!) })],
  [/^\*(?=\S)([^*]*?\S)\*(?!\*)/, (match) => ({ kind: "em", children: inlines(match[1]!) })],
  [/^_(?=\S)([^_]*?\S)_(?!\w)/, (match) => ({ kind: "em", children: inlines(match[1]!) })],
  [/^\[([^\]\n]+)\]\(([^()\s]+)\)/, (match) => linked(match[2]!, match[1]!)],
  [
    /^(?:https?|mailto):[^\s<>"'`)\]]+[^\s<>"'`)\].,;:!?]/,
    (match) => ({ kind: "link", href: match[0], children: [{ kind: "text", text: match[0] }] }),
  ],
  [/^\\([\\`*_{}[\]()#+\-.!|~>])/, (match) => ({ kind: "text", text: match[1]! })],
];

/** Only addresses that lead to pages or mail; anything else stays text. */
function linked(href: string, label: string): Inline | undefined {
  return /^(?:https?:|mailto:)/i.test(href) ? { kind: "link", href, children: inlines(label) } : undefined;
}

const SPECIAL = /[`*_~[\\]|https?:|mailto:/g;

export function inlines(text: string): Inline[] {
  const found: Inline[] = [];
  const say = (more: string): void => {
    const last = found.at(-1);
    if (last?.kind === "text") last.text += more;
    else if (more) found.push({ kind: "text", text: more });
  };
  let at = 0;
  while (at < text.length) {
    SPECIAL.lastIndex = at;
    const next = SPECIAL.exec(text);
    if (!next) break;
    say(text.slice(at, next.index));
    const rest = text.slice(next.index);
    const inWord = /\w/.test(text[next.index - 1] ?? "") && next[0] === "_";
    const hit = inWord ? undefined : mark(rest);
    if (hit) {
      if (hit[0].kind === "text") say(hit[0].text);
      else found.push(hit[0]);
      at = next.index + hit[1];
    } else {
      say(text[next.index]!);
      at = next.index + 1;
    }
  }
  say(text.slice(at));
  return found;
}

function mark(rest: string): [Inline, number] | undefined {
  for (const [pattern, read] of MARKS) {
    const match = pattern.exec(rest);
    const inline = match && read(match);
    if (inline) return [inline, match[0].length];
  }
  return undefined;
}
