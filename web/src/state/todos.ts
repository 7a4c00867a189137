// The todo lists of a session, built from its events (TD). Pure: state and event give the next state.
import { body, fields, firstWord, folded, joined, seqOf, trim, wholeNumber, firstId, type Fields } from "./text";
import { readUpdate, type Entry, type Update } from "./todo_update";

export type TodoStatus = "todo" | "in_progress" | "done" | "blocked" | "canceled";

export interface TodoItem {
  readonly id: string;
  readonly title: string;
  readonly status: TodoStatus;
  readonly raw_status?: string;
  readonly priority?: string | number;
  readonly metadata?: Fields;
}

export interface TodoScope {
  readonly label: string;
  readonly revision: bigint | null;
  readonly stale: boolean;
  readonly items: readonly TodoItem[];
  /** Set from its first accepted update on. */
  readonly known: boolean;
  /** Number of the event of the last accepted update. */
  readonly seq: bigint | null;
}

export interface Todos {
  readonly order: readonly string[];
  readonly scopes: Readonly<Record<string, TodoScope>>;
  /** Numbers already handled; each counts once (EN-10). */
  readonly handled: bigint;
  readonly early: ReadonlySet<bigint>;
  /** Counter for ids that this reader assigns. */
  readonly made: number;
}

const MAIN = "main";
const NEW_SCOPE: TodoScope = { label: MAIN, revision: null, stale: false, items: [], known: false, seq: null };

export const NO_TODOS: Todos = { order: [MAIN], scopes: { [MAIN]: NEW_SCOPE }, handled: 0n, early: new Set(), made: 0 };

/** Items done and items in all. */
export function counts(scope: TodoScope): { done: number; total: number } {
  return { done: scope.items.filter((item) => item.status === "done").length, total: scope.items.length };
}

/** The connection did not resume where it stopped: every known list may be wrong (TD-26). */
export function reconnected(todos: Todos, how: "gap" | "gapless"): Todos {
  if (how === "gapless") return todos;
  const scopes = Object.fromEntries(
    Object.entries(todos.scopes).map(([key, scope]) => [key, scope.known ? { ...scope, stale: true } : scope]),
  );
  return { ...todos, scopes };
}

/** Applies an event of the session; events may come in any order. */
export function applyTodos(todos: Todos, event: Fields): Todos {
  const seq = seqOf(event);
  if (seq !== undefined) {
    if (seq <= todos.handled || todos.early.has(seq)) return todos;
    todos = remember(todos, seq);
  }
  const type = event["type"];
  if (type === "stream.gap") return reconnected(todos, "gap");
  const update = readUpdate(body(event), typeof type === "string" ? type : "");
  return update ? applyUpdate(todos, update, seq ?? null) : todos;
}

function remember(todos: Todos, seq: bigint): Todos {
  const early = new Set(todos.early).add(seq);
  let handled = todos.handled;
  while (early.delete(handled + 1n)) handled += 1n;
  return { ...todos, handled, early };
}

/** The key of the list that an update is about (TD-10). */
export function scopeKey(envelope: Fields, from: Fields): { key: string; own: boolean } {
  const names = ["scope_key", "scopeKey", "scope"];
  const inside = firstId(envelope, names);
  const lane = ["lane_id", "laneId", "task_id", "taskId", "agent_id", "agentId"];
  const outside = inside === undefined ? firstId(from, [...names, ...lane]) : undefined;
  const key = joined(trim(inside ?? outside ?? MAIN), "_");
  return { key: [...key].slice(0, 64).join(""), own: outside !== undefined };
}

function label(envelope: Fields, from: Fields, own: boolean): string | undefined {
  const inside = firstWord(envelope, ["scope_label", "scopeLabel", "label"]);
  if (inside !== undefined || !own) return inside;
  return firstWord(from, ["scope_label", "scopeLabel", "lane_label", "laneLabel", "subagent_type", "subagentType"]);
}

function applyUpdate(todos: Todos, update: Update, seq: bigint | null): Todos {
  const { key, own } = scopeKey(update.envelope, update.body);
  const before = todos.scopes[key] ?? { ...NEW_SCOPE, label: key };
  const { revision } = update;
  if (revision === undefined) {
    if (before.revision !== null) return todos;
    if (seq !== null && before.seq !== null && seq <= before.seq) return todos;
  } else if (before.revision !== null && revision <= before.revision) {
    // The same whole list again confirms that the list is right (TD-27); an empty list arrives as a clear.
    const snapshot = update.op === "replace" || (update.op === "clear" && before.items.length === 0);
    const whole = snapshot && revision === before.revision && before.stale;
    return whole ? withScope(todos, key, { ...before, stale: false }) : todos;
  }
  const [items, made] = changed(before.items, update, todos.made);
  const whole = update.op === "replace" || update.op === "clear";
  const scope: TodoScope = {
    label: label(update.envelope, update.body, own) ?? before.label,
    revision: revision ?? null,
    stale: before.stale && !whole,
    items,
    known: true,
    seq: seq ?? before.seq,
  };
  return { ...withScope(todos, key, scope), made };
}

function withScope(todos: Todos, key: string, scope: TodoScope): Todos {
  const order = todos.order.includes(key) ? todos.order : [...todos.order, key];
  return { ...todos, order, scopes: { ...todos.scopes, [key]: scope } };
}

function changed(items: readonly TodoItem[], update: Update, made: number): [readonly TodoItem[], number] {
  switch (update.op) {
    case "clear":
      return [[], made];
    case "replace":
      return replaced(items, update.items, made);
    case "patch":
      return [items.map((item) => update.patches.filter((patch) => patch.id === item.id).reduce(patched, item)), made];
    case "delete":
      return [items.filter((item) => !update.ids.includes(item.id)), made];
    case "upsert":
      return upserted(items, update.item, update.position, made);
  }
}

function patched(item: TodoItem, patch: Entry): TodoItem {
  const { raw_status: raw, ...rest } = item;
  const kept = patch.status || raw === undefined ? rest : item;
  return { ...kept, ...patch.title, ...patch.status, ...patch.priority, ...patch.metadata };
}

/** Gives each entry an id: its own, that of an item with the same title, or a new one (TD-17). */
function identified(present: readonly TodoItem[], entries: readonly Entry[], made: number): [TodoItem[], number] {
  const taken = new Set(entries.map((entry) => entry.id).filter((id) => id !== undefined));
  const used = new Set(present.map((item) => item.id));
  const items = entries.map((entry) => {
    let id = entry.id;
    if (id === undefined) {
      const wanted = folded(entry.title?.title ?? "");
      id = present.find((item) => folded(item.title) === wanted && !taken.has(item.id))?.id;
      while (id === undefined) {
        made += 1;
        const candidate = `t-${made}`;
        if (!taken.has(candidate) && !used.has(candidate)) id = candidate;
      }
      taken.add(id);
    }
    return whole(id, entry);
  });
  return [items, made];
}

function whole(id: string, entry: Entry): TodoItem {
  const base = { id, title: entry.title?.title ?? "", status: "todo" as const };
  return { ...base, ...entry.status, ...entry.priority, ...entry.metadata };
}

function replaced(present: readonly TodoItem[], entries: readonly Entry[], made: number): [TodoItem[], number] {
  const [items, next] = identified(present, entries, made);
  const last = new Map(items.map((item) => [item.id, item]));
  const firsts = items.filter((item, at) => items.findIndex((other) => other.id === item.id) === at);
  return [firsts.map((item) => last.get(item.id) ?? item), next];
}

function upserted(
  present: readonly TodoItem[],
  entry: Entry,
  position: bigint | undefined,
  made: number,
): [readonly TodoItem[], number] {
  const [[item], next] = identified(present, [entry], made);
  if (!item) return [present, made];
  if (present.some((known) => known.id === item.id)) {
    return [present.map((known) => (known.id === item.id ? item : known)), next];
  }
  const end = BigInt(present.length);
  const at = Number(position === undefined || position > end ? end : position < 0n ? 0n : position);
  return [[...present.slice(0, at), item, ...present.slice(at)], next];
}

/** The items of a preview, and its header (UI-3, UI-4). */
export function preview(
  items: readonly TodoItem[],
  strategy: "first_n" | "incomplete_first" | "active_first",
  rows: number,
  scope: { label: string; stale: boolean },
): { visible: TodoItem[]; hidden: number; header: string | null } {
  if (items.length === 0) return { visible: [], hidden: 0, header: null };
  const rank: Record<TodoStatus, number> = { in_progress: 0, todo: 1, blocked: 2, done: 3, canceled: 4 };
  const over = (item: TodoItem): number => (item.status === "done" || item.status === "canceled" ? 1 : 0);
  const order = { first_n: () => 0, incomplete_first: over, active_first: (item: TodoItem) => rank[item.status] }[
    strategy
  ];
  const sorted = items.length <= rows ? [...items] : [...items].sort((a, b) => order(a) - order(b));
  const visible = sorted.slice(0, rows);
  const hidden = items.length - visible.length;
  const done = items.filter((item) => item.status === "done").length;
  const name = scope.label === MAIN ? "" : ` (${scope.label})`;
  const more = (hidden > 0 ? ` · +${hidden}` : "") + (scope.stale ? " · stale" : "");
  return { visible, hidden, header: `TODOs${name}: ${done}/${items.length}${more}` };
}

/** Replaces the known lists with those of `GET /sessions/{id}/todos`. */
export function hydrated(todos: Todos, lists: { scopes: readonly Fields[] }): Todos {
  return lists.scopes.reduce<Todos>((state, scope) => {
    const envelope = { op: "replace", ...scope, label: scope["scopeLabel"] };
    const update = readUpdate({ todo: envelope }, "");
    const revision = wholeNumber(scope["revision"]);
    const key = scopeKey(envelope, {}).key;
    const known = state.scopes[key];
    if (!update || !fields(scope)) return state;
    const newer =
      known?.revision === null || known === undefined || revision === undefined || revision > known.revision;
    return newer ? applyUpdate(state, update, null) : withScope(state, key, { ...known, stale: false });
  }, todos);
}
