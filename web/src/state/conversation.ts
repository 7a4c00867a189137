// A session's events as rows of a transcript; chunks of one message, and a call with its result, are one row.
import type { SessionEvent } from "../api/wire";
import { fields, firstWord, type Fields } from "./text";

interface Base {
  readonly key: string;
  readonly at: number;
  readonly seq: number;
}

export type Row =
  | (Base & { kind: "turn"; turn: number; ended: string; reason: string })
  | (Base & { kind: "message"; role: "user" | "assistant"; text: string; streaming: boolean; source: string })
  | (Base & { kind: "reasoning"; text: string })
  | (Base & {
      kind: "tool";
      call: string;
      name: string;
      action: string;
      input: unknown;
      status: "running" | "ok" | "error";
      output: string;
    })
  | (Base & { kind: "task"; task: string; status: string; title: string; lane: string })
  | (Base & { kind: "handoff"; from: string; to: string; text: string })
  | (Base & { kind: "evidence"; text: string; checks: readonly string[] })
  | (Base & { kind: "permission"; request: string; tool: string; text: string; decision: string })
  | (Base & { kind: "line"; tone: "idle" | "blocked" | "failed" | "done"; title: string; text: string });

export interface Conversation {
  readonly rows: readonly Row[];
  /** Positions of rows that later events change, by id. */
  readonly places: ReadonlyMap<string, number>;
  readonly usage: { readonly input: number; readonly output: number; readonly cost: number };
  /** The first known event is not the first of the session. */
  readonly cut: boolean;
}

export const NO_CONVERSATION: Conversation = {
  rows: [],
  places: new Map(),
  usage: { input: 0, output: 0, cost: 0 },
  cut: false,
};

/** Works on its own copies; one draft per batch. */
interface Draft {
  rows: Row[];
  places: Map<string, number>;
  usage: { input: number; output: number; cost: number };
  cut: boolean;
}

/** Applies events, which come in the order of the session. */
export function applyConversation(before: Conversation, events: readonly SessionEvent[]): Conversation {
  const draft: Draft = {
    rows: [...before.rows],
    places: new Map(before.places),
    usage: { ...before.usage },
    cut: before.cut,
  };
  for (const event of events) {
    if (event.seq === undefined) continue;
    if (draft.rows.length === 0 && before.rows.length === 0 && event.seq > 1 && !draft.places.has("begun"))
      draft.cut = true;
    draft.places.set("begun", 0);
    take(draft, event, fields(event.data) ?? fields(event.payload) ?? {});
  }
  return draft;
}

const text = (said: Fields, ...names: string[]): string => firstWord(said, names) ?? "";
const whole = (said: Fields, name: string): string => (typeof said[name] === "string" ? (said[name] as string) : "");
const number = (value: unknown): number => (typeof value === "number" ? value : 0);

function take(draft: Draft, event: SessionEvent, said: Fields): void {
  const base: Base = { key: String(event.seq), at: event.timestamp_ms, seq: event.seq ?? 0 };
  switch (event.type) {
    case "turn_start":
      return put(draft, `turn ${event.turn ?? said["turn"]}`, {
        ...base,
        kind: "turn",
        turn: number(said["turn"]),
        ended: "",
        reason: "",
      });
    case "turn_end":
      return change(draft, `turn ${event.turn ?? said["turn"]}`, (row) =>
        row.kind === "turn" ? { ...row, ended: text(said, "status"), reason: text(said, "reason") } : row,
      );
    case "user_message":
      return put(draft, "", {
        ...base,
        kind: "message",
        role: "user",
        text: whole(said, "text"),
        streaming: false,
        source: text(said, "source"),
      });
    case "assistant_delta":
    case "assistant_message":
      return answer(draft, base, said, event.type === "assistant_delta");
    case "assistant.reasoning.delta":
      return reasoning(draft, base, said);
    case "tool_call":
    case "tool_result":
      return tool(draft, base, said, event.type === "tool_result");
    case "task_event":
      return task(draft, base, said);
    case "handoff":
      return put(draft, "", {
        ...base,
        kind: "handoff",
        from: text(said, "from"),
        to: text(said, "to"),
        text: whole(said, "message"),
      });
    case "evidence":
      return put(draft, "", {
        ...base,
        kind: "evidence",
        text: whole(said, "summary"),
        checks: strings(said["checks"]),
      });
    case "permission_request":
      return put(draft, `permission ${text(said, "request_id")}`, {
        ...base,
        kind: "permission",
        request: text(said, "request_id"),
        tool: text(said, "tool"),
        text: text(said, "summary", "kind"),
        decision: "",
      });
    case "permission_response":
      return change(draft, `permission ${text(said, "request_id")}`, (row) =>
        row.kind === "permission" ? { ...row, decision: text(said, "decision") } : row,
      );
    case "usage.update":
      draft.usage.input += number(said["input_tokens"]);
      draft.usage.output += number(said["output_tokens"]);
      draft.usage.cost += number(said["cost"]);
      return;
    default:
      return line(draft, base, event.type, said);
  }
}

function put(draft: Draft, name: string, row: Row): void {
  if (name) draft.places.set(name, draft.rows.length);
  draft.rows.push(row);
}

function change(draft: Draft, name: string, how: (row: Row) => Row): void {
  const at = draft.places.get(name);
  const row = at === undefined ? undefined : draft.rows[at];
  if (at !== undefined && row) draft.rows[at] = how(row);
}

function answer(draft: Draft, base: Base, said: Fields, piece: boolean): void {
  const name = `message ${text(said, "message_id")}`;
  const known = text(said, "message_id") !== "" && draft.places.has(name);
  const added = whole(said, "text");
  if (!known)
    return put(draft, text(said, "message_id") ? name : "", {
      ...base,
      kind: "message",
      role: "assistant",
      text: added,
      streaming: piece,
      source: text(said, "source"),
    });
  change(draft, name, (row) => {
    if (row.kind !== "message") return row;
    return piece ? { ...row, text: row.text + added } : { ...row, text: added, streaming: false };
  });
}

function reasoning(draft: Draft, base: Base, said: Fields): void {
  const name = `reasoning ${text(said, "message_id")}`;
  const last = draft.rows.at(-1);
  const goesOn = text(said, "message_id") ? draft.places.has(name) : last?.kind === "reasoning";
  if (!goesOn)
    return put(draft, text(said, "message_id") ? name : "", { ...base, kind: "reasoning", text: whole(said, "delta") });
  const at = text(said, "message_id") ? draft.places.get(name) : draft.rows.length - 1;
  const row = at === undefined ? undefined : draft.rows[at];
  if (at !== undefined && row?.kind === "reasoning") draft.rows[at] = { ...row, text: row.text + whole(said, "delta") };
}

function tool(draft: Draft, base: Base, said: Fields, result: boolean): void {
  const call = text(said, "call_id");
  const name = `call ${call}`;
  const described = fields(said["call"]);
  const status = !result ? "running" : said["error"] === true || said["status"] === "error" ? "error" : "ok";
  const output = result ? shown(said["result"]) || whole(said, "message") : "";
  if (call && draft.places.has(name)) {
    return change(draft, name, (row) =>
      row.kind === "tool" ? { ...row, status: result ? status : row.status, output: output || row.output } : row,
    );
  }
  const row: Row = {
    ...base,
    kind: "tool",
    call,
    name: text(said, "tool") || text(described ?? {}, "name"),
    action: text(said, "action"),
    input: described?.["arguments"],
    status,
    output,
  };
  put(draft, call ? name : "", row);
}

function task(draft: Draft, base: Base, said: Fields): void {
  const id = text(said, "task_id");
  const name = `task ${id}`;
  const status = text(said, "status", "state") || text(said, "kind");
  if (draft.places.has(name)) return change(draft, name, (row) => (row.kind === "task" ? { ...row, status } : row));
  put(draft, name, {
    ...base,
    kind: "task",
    task: id,
    status,
    title: text(said, "description") || id,
    lane: text(said, "lane_label", "lane_id"),
  });
}

const TONES: Readonly<Record<string, "blocked" | "failed" | "done">> = {
  warning: "blocked",
  interrupt: "blocked",
  error: "failed",
  completion: "done",
  run_finished: "done",
};
/** Types that a transcript does not show. */
const SILENT = new Set([
  "ctree_node",
  "ctree_snapshot",
  "session.driver",
  "session.watched",
  "stream.hello",
  "stream.gap",
]);

function line(draft: Draft, base: Base, type: string, said: Fields): void {
  // The completion of a turn repeats what the row of the turn shows.
  if (SILENT.has(type) || (type === "completion" && said["turn"] !== undefined)) return;
  const summary = fields(said["summary"]);
  const parts = [text(said, "message"), text(said, "reason"), text(summary ?? {}, "reason")].filter(Boolean);
  if (type === "session.meta")
    parts.push(
      ...["title", "model", "mode", "status"].flatMap((name) =>
        text(said, name) ? [`${name} ${text(said, name)}`] : [],
      ),
    );
  put(draft, "", {
    ...base,
    kind: "line",
    tone: TONES[type] ?? "idle",
    title: type === "session.meta" ? "Session" : type.replaceAll(/[._]/g, " "),
    text: parts.join(" · "),
  });
}

function strings(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((one) => typeof one === "string") : [];
}

/** A result as text: a string as it is, anything else as JSON. */
function shown(value: unknown): string {
  if (value === undefined || value === null) return "";
  return typeof value === "string"
    ? value
    : JSON.stringify(value, (_, inner: unknown) => (typeof inner === "bigint" ? inner.toString() : inner), 2);
}
