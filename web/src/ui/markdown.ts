// Markdown as a tree of our own. Input never becomes HTML; what is not understood stays text.
//
// Agents write the input, so parsing takes time linear in its length: no pattern has two ways to match the same
// characters, and ends of marks are looked up, not searched for again and again.
import { inlines, type Inline } from "./inlines";

export { inlines, type Inline };

export type Block =
  | { kind: "heading"; level: number; children: Inline[] }
  | { kind: "paragraph"; children: Inline[] }
  | { kind: "code"; language: string; text: string }
  | { kind: "quote"; children: Block[] }
  | { kind: "list"; ordered: boolean; start: number; items: { checked: boolean | undefined; children: Block[] }[] }
  | { kind: "table"; head: Inline[][]; rows: Inline[][][] }
  | { kind: "rule" };

const FENCE = /^ {0,3}(`{3,}|~{3,})\s*([^\s`]*)/;
const HEADING = /^ {0,3}(#{1,6})\s+(\S[^]*)?$/;
const RULE = /^ {0,3}([-*_])(?:\s*\1){2,}\s*$/;
const ITEM = /^( {0,3})([-*+]|\d{1,9}[.)])(\s+|$)/;
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
  if (heading) return [{ kind: "heading", level: heading[1]!.length, children: inlines(title(heading[2] ?? "")) }, at + 1];
  if (RULE.test(line)) return [{ kind: "rule" }, at + 1];
  if (/^ {0,3}>/.test(line)) return quoted(lines, at, depth);
  if (ITEM.test(line)) return listed(lines, at, depth);
  if (line.includes("|") && divides(lines[at + 1] ?? "")) return tabled(lines, at);
  return paragraph(lines, at);
}

/** The text of a heading, without the marks that may close it. */
function title(text: string): string {
  const trimmed = text.trimEnd();
  let end = trimmed.length;
  while (trimmed[end - 1] === "#") end -= 1;
  return trimmed.slice(0, end).trimEnd();
}

/** Whether a line separates the head of a table from its rows. */
function divides(line: string): boolean {
  return line.includes("|") && bars(line).every((cell) => /^:?-+:?$/.test(cell.trim()));
}

/** The cells of a table row. */
function bars(line: string): string[] {
  return line.trim().replace(/^\|/, "").replace(/\|$/, "").split("|");
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

/** Whether a line continues an item that is indented this far. */
function belongs(lines: string[], at: number, indent: number): boolean {
  const line = lines[at]!;
  if (!line.trim()) return /^ {2,}\S/.test(lines[at + 1] ?? "") || (lines[at + 1] ?? "").startsWith(" ".repeat(indent));
  if (line.startsWith("  ")) return true;
  return (
    !ITEM.test(line) && !HEADING.test(line) && !FENCE.test(line) && lines[at - 1]!.trim() !== "" && !RULE.test(line)
  );
}

function cells(line: string): Inline[][] {
  return bars(line).map((cell) => inlines(cell.trim()));
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
