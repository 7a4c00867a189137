// The known state of a session's C-Tree and of its tasks, merged key by key by event number (CM).
import { body, fields, firstId, firstWord, seqOf, type Fields } from "./text";

const SECTIONS = ["snapshot", "compiler", "collapse", "runner", "last_node"] as const;
export type SectionName = (typeof SECTIONS)[number];

/** A value and the number that set it; `undefined` marks a cleared key. */
interface Cell {
  readonly value: unknown;
  readonly rank: Rank;
}

/** Events without a number rank below all others; among them the later one wins (CM-6). */
type Rank = bigint;
const LOWEST: Rank = -1n;

interface Section {
  readonly cells: Readonly<Record<string, Cell>>;
  /** Keys set by this number or an older one are cleared, even when they arrive later. */
  readonly cleared: Rank | null;
}

export type Summary = Readonly<Record<SectionName, Section>>;

const EMPTY: Section = { cells: {}, cleared: null };
export const NO_SUMMARY: Summary = {
  snapshot: EMPTY,
  compiler: EMPTY,
  collapse: EMPTY,
  runner: EMPTY,
  last_node: EMPTY,
};

export interface TaskRow {
  readonly id: string;
  readonly status: Cell;
  readonly node: Cell;
  readonly tree: Summary;
  /** Number of its last event. */
  readonly last: Rank;
}

export interface CTree {
  readonly summary: Summary;
  readonly tasks: Readonly<Record<string, TaskRow>>;
  readonly order: readonly string[];
  readonly handled: ReadonlySet<bigint>;
}

export const NO_CTREE: CTree = { summary: NO_SUMMARY, tasks: {}, order: [], handled: new Set() };

/** Applies an event of the session; events may come in any order. */
export function applyCTree(tree: CTree, event: Fields): CTree {
  const seq = seqOf(event);
  if (seq !== undefined) {
    if (tree.handled.has(seq)) return tree;
    tree = { ...tree, handled: new Set(tree.handled).add(seq) };
  }
  const rank = seq ?? LOWEST;
  const said = body(event);
  switch (event["type"]) {
    case "ctree_snapshot":
      return { ...tree, summary: merged(tree.summary, said, rank) };
    case "ctree_node":
      return { ...tree, summary: merged(tree.summary, { snapshot: said["snapshot"], last_node: said["node"] }, rank) };
    case "task_event":
      return withTask(tree, said, rank);
    default:
      return tree;
  }
}

/** Applies the response of `GET /sessions/{id}/ctrees`, at any time (CM-7). */
export function hydrateCTree(tree: CTree, answer: Fields): CTree {
  return { ...tree, summary: merged(tree.summary, answer, seqOf(answer) ?? LOWEST) };
}

function merged(summary: Summary, update: Fields, rank: Rank): Summary {
  const next = { ...summary };
  for (const name of SECTIONS) {
    const given = update[name];
    if (given === undefined) continue;
    if (given === null) next[name] = cleared(summary[name], rank);
    else if (fields(given))
      next[name] =
        name === "last_node"
          ? lastNode(summary[name], fields(given)!, rank)
          : keys(summary[name], fields(given)!, rank);
  }
  return next;
}

/** Clears all keys set by this number or an older one, even those that arrive later (CM-4). */
function cleared(section: Section, rank: Rank): Section {
  const cells = Object.fromEntries(Object.entries(section.cells).filter(([, cell]) => cell.rank > rank));
  const latest = section.cleared === null || rank > section.cleared ? rank : section.cleared;
  return { cells, cleared: latest };
}

function keys(section: Section, given: Fields, rank: Rank): Section {
  if (section.cleared !== null && rank < section.cleared) return section;
  const cells = { ...section.cells };
  for (const [key, value] of Object.entries(given)) {
    const known = cells[key];
    if (known && known.rank > rank) continue;
    cells[key] = { value: value === null ? undefined : value, rank };
  }
  return { ...section, cells };
}

/** One node: another id replaces the whole section (CM-5). */
function lastNode(section: Section, given: Fields, rank: Rank): Section {
  const id = section.cells["id"];
  const present = id?.value;
  if (given["id"] === null) return id && rank < id.rank ? section : cleared(section, rank);
  if (given["id"] === undefined || given["id"] === present) {
    if (id && given["id"] === undefined && rank < id.rank) return section;
    return keys(section, given, rank);
  }
  if (id && present !== undefined && rank < id.rank) return section;
  return keys({ ...section, cells: {} }, given, rank);
}

const ENDINGS: readonly (readonly [RegExp, string])[] = [
  [/(spawned|started)$/, "running"],
  [/(completed|finished)$/, "completed"],
  [/failed$/, "failed"],
  [/(canceled|cancelled)$/, "canceled"],
];

function withTask(tree: CTree, said: Fields, rank: Rank): CTree {
  const id = firstId(said, ["task_id", "taskId", "id"]);
  if (id === undefined) return tree;
  const unknown: Cell = { value: "unknown", rank: LOWEST };
  const nothing: Cell = { value: undefined, rank: LOWEST };
  const before = tree.tasks[id] ?? { id, status: unknown, node: nothing, tree: NO_SUMMARY, last: LOWEST };
  const row: TaskRow = {
    id,
    status: newer(before.status, statusOf(said), rank),
    node: newer(before.node, named(said, "ctree_node_id", "ctreeNodeId"), rank),
    tree: taskTree(before.tree, named(said, "ctree_snapshot", "ctreeSnapshot"), rank),
    last: rank > before.last ? rank : before.last,
  };
  const order = tree.order.includes(id) ? tree.order : [...tree.order, id];
  return { ...tree, tasks: { ...tree.tasks, [id]: row }, order };
}

function statusOf(said: Fields): string | undefined {
  const word = firstWord(said, ["status", "state"]);
  if (word !== undefined) return word.toLowerCase();
  const kind = typeof said["kind"] === "string" ? said["kind"].toLowerCase() : "";
  return ENDINGS.find(([ending]) => ending.test(kind))?.[1];
}

function named(said: Fields, name: string, alias: string): unknown {
  return said[name] !== undefined ? said[name] : said[alias];
}

function newer(cell: Cell, value: unknown, rank: Rank): Cell {
  if (value === undefined || rank < cell.rank) return cell;
  return { value: value === null ? undefined : value, rank };
}

function taskTree(summary: Summary, given: unknown, rank: Rank): Summary {
  if (given === null) return merged(summary, Object.fromEntries(SECTIONS.map((name) => [name, null])), rank);
  const update = fields(given);
  if (!update) return summary;
  return merged(summary, SECTIONS.some((name) => name in update) ? update : { snapshot: update }, rank);
}

/** A section as plain values; null when it is empty. */
export function section(summary: Summary, name: SectionName): Fields | null {
  const cells = Object.entries(summary[name].cells).filter(([, cell]) => cell.value !== undefined);
  return cells.length > 0 ? Object.fromEntries(cells.map(([key, cell]) => [key, cell.value])) : null;
}

/** The tasks, the newest event first (CM-9). */
export function taskRows(tree: CTree): TaskRow[] {
  const rows = tree.order.map((id) => tree.tasks[id]!);
  return rows
    .map((row, at) => ({ row, at }))
    .sort((a, b) => (a.row.last === b.row.last ? b.at - a.at : a.row.last < b.row.last ? 1 : -1))
    .map(({ row }) => row);
}

/** The summary in one line (UI-12); undefined when no part is known. */
export function summaryLine(summary: Summary): string | null {
  const at = (name: SectionName): Fields => section(summary, name) ?? {};
  const text = (value: unknown): string => (typeof value === "string" ? value : "");
  const count = (value: unknown): number | undefined =>
    typeof value === "number" || typeof value === "bigint" ? Number(value) : undefined;
  const parts: string[] = [];
  const nodes = count(at("snapshot")["node_count"]);
  if (nodes !== undefined) parts.push(nodes === 1 ? "1 node" : `${nodes} nodes`);
  const hash = text(at("snapshot")["node_hash"]);
  if (hash) parts.push(`hash ${hash.slice(0, 8)}`);
  const stage = ["z3", "z2", "z1"].find((name) => text(at("compiler")[name]));
  if (stage) parts.push(`${stage} ${text(at("compiler")[stage]).slice(0, 8)}`);
  const policy = text(at("collapse")["policy"]);
  const dropped = count(at("collapse")["dropped"]) ?? 0;
  if (dropped > 0) parts.push(`dropped ${dropped}${policy ? ` (${policy})` : ""}`);
  else if (policy) parts.push(`policy ${policy}`);
  const run = [text(at("runner")["phase"]), text(at("runner")["status"])].filter(Boolean).join("/");
  if (run) parts.push(`run ${run}`);
  const last = text(at("last_node")["id"]);
  const score = at("last_node")["score"];
  if (last) parts.push(`last ${last}${typeof score === "number" ? ` ${score.toFixed(2)}` : ""}`);
  return parts.length > 0 ? `C-Tree: ${parts.join(" · ")}` : null;
}
