// Reads one todo update from an event: lenient about names, strict about meaning (TD-1 to TD-9, TD-20 to TD-24).
import { fields, firstId, firstWord, idOf, joined, trim, wholeNumber, type Fields } from "./text";
import type { TodoStatus } from "./todos";

/** Fields of an item or of a change to one; absent fields change nothing. */
export interface Entry {
  id?: string;
  title?: { title: string };
  status?: { status: TodoStatus; raw_status?: string };
  priority?: { priority: string | number };
  metadata?: { metadata: Fields };
}

interface Common {
  envelope: Fields;
  body: Fields;
  revision: bigint | undefined;
}

export type Update = Common &
  (
    | { op: "replace"; items: Entry[] }
    | { op: "clear" }
    | { op: "patch"; patches: Entry[] }
    | { op: "upsert"; item: Entry; position: bigint | undefined }
    | { op: "delete"; ids: string[] }
  );

const OPERATIONS: Record<string, Update["op"]> = {
  replace: "replace",
  snapshot: "replace",
  clear: "clear",
  reset: "clear",
  patch: "patch",
  update: "patch",
  upsert: "upsert",
  add: "upsert",
  delete: "delete",
  remove: "delete",
};

const STATUSES: Record<string, TodoStatus> = {};
for (const [status, names] of [
  ["todo", "todo pending open queued not_started"],
  ["in_progress", "in_progress inprogress progress active doing started running"],
  ["done", "done complete completed finished closed"],
  ["blocked", "blocked waiting failed"],
  ["canceled", "canceled cancelled skipped abandoned deleted"],
] as const) {
  for (const name of names.split(" ")) STATUSES[name] = status;
}

const IDS = ["id", "todo_id", "todoId"];

/** The update in an event's body; undefined when there is none, or it is not valid. */
export function readUpdate(body: Fields, type: string): Update | undefined {
  const todo = body["todo"];
  if (todo === undefined || todo === null) {
    const list = fallback(body, type);
    return list && replace({ envelope: {}, body, revision: undefined }, list);
  }
  if (Array.isArray(todo)) return replace({ envelope: {}, body, revision: undefined }, todo);
  const envelope = fields(todo);
  const word = envelope && firstWord(envelope, ["op", "operation", "type"])?.toLowerCase();
  if (!envelope || word === undefined || !Object.hasOwn(OPERATIONS, word)) return undefined;
  const found = ["revision", "rev", "seq", "version"].map((name) => wholeNumber(envelope[name]));
  const common = { envelope, body, revision: found.find((revision) => revision !== undefined) };
  switch (OPERATIONS[word]) {
    case "replace":
      return replace(common, [envelope["items"], envelope["todos"]].find(Array.isArray));
    case "clear":
      return { ...common, op: "clear" };
    case "patch":
      return patch(common);
    case "upsert": {
      const item = entry(fields(envelope["item"]) ?? fields(envelope["todo"]) ?? envelope);
      return item.title && { ...common, op: "upsert", item, position: wholeNumber(envelope["position"]) };
    }
    case "delete":
      return remove(common);
    case undefined:
      return undefined;
  }
}

function replace(common: Common, list: unknown[] | undefined): Update | undefined {
  if (!list) return undefined;
  const items = list.flatMap((value) => {
    const item = fields(value);
    const read = item && entry(item);
    return read?.title ? [read] : [];
  });
  return list.length > 0 && items.length === 0 ? undefined : { ...common, op: "replace", items };
}

function patch(common: Common): Update | undefined {
  const { envelope } = common;
  const given = [envelope["patches"], envelope["patch"]].find((value) => Array.isArray(value) || fields(value));
  const list: unknown[] = Array.isArray(given) ? given : [given];
  const patches = list.flatMap((value) => {
    const outer = fields(value);
    if (!outer) return [];
    const inner = fields(outer["patch"]);
    const read = entry(inner ?? outer);
    const id = firstId(outer, IDS) ?? (inner && firstId(inner, IDS)) ?? firstId(envelope, IDS);
    const says = read.title ?? read.status ?? read.priority ?? read.metadata;
    return id !== undefined && says ? [{ ...read, id }] : [];
  });
  return patches.length > 0 ? { ...common, op: "patch", patches } : undefined;
}

function remove(common: Common): Update | undefined {
  const given = common.envelope["ids"];
  const list: unknown[] = Array.isArray(given) ? given : [given];
  let ids = list.map(idOf).filter((id) => id !== undefined);
  if (ids.length === 0) {
    const one = firstId(common.envelope, IDS);
    ids = one === undefined ? [] : [one];
  }
  return ids.length > 0 ? { ...common, op: "delete", ids } : undefined;
}

/** The fields of an item or of a change to one. */
function entry(from: Fields): Entry {
  const read: Entry = {};
  const id = firstId(from, IDS);
  if (id !== undefined) read.id = id;
  const title = ["title", "content", "text"].map((name) => from[name]).find((value) => typeof value === "string");
  if (title !== undefined && trim(title)) read.title = { title: trim(title) };
  const raw = firstWord(from, ["status", "state"]);
  if (raw !== undefined) {
    const word = joined(raw, "_").replaceAll("-", "_").toLowerCase();
    const status = Object.hasOwn(STATUSES, word) ? (STATUSES[word] ?? "todo") : "todo";
    read.status = status === raw ? { status } : { status, raw_status: raw };
  }
  const priority = from["priority"];
  if (typeof priority === "number" || (typeof priority === "string" && trim(priority))) read.priority = { priority };
  const metadata = fields(from["metadata"]);
  if (metadata) read.metadata = { metadata };
  return read;
}

/** The list inside the payload of a tool whose name contains "todo" (TD-24). */
function fallback(body: Fields, type: string): unknown[] | undefined {
  if (!["tool_call", "tool_result", "tool.result"].includes(type)) return undefined;
  const nested = (name: string): unknown => fields(body[name])?.["name"];
  const names: unknown[] = [body["tool_name"], body["tool"], nested("tool"), nested("call"), body["name"]];
  const name = names.find((value): value is string => typeof value === "string" && trim(value) !== "");
  if (!name?.toLowerCase().includes("todo")) return undefined;
  if (Array.isArray(body["todos"])) return body["todos"];
  for (const key of ["tool", "call", "arguments", "input", "result", "output"]) {
    const list = listIn(parsed(body[key]), key);
    if (list) return list;
  }
  return undefined;
}

function listIn(value: unknown, key: string): unknown[] | undefined {
  const inside = fields(value)?.["todos"];
  if (Array.isArray(inside)) return inside;
  const answers = key === "result" || key === "output";
  return answers && Array.isArray(value) && value.length > 0 && value.every(fields) ? value : undefined;
}

function parsed(value: unknown): unknown {
  if (typeof value !== "string") return value;
  try {
    return JSON.parse(value);
  } catch {
    return undefined;
  }
}
