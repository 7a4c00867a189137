// One-line descriptions of what happened to a task: events, changed values, receipts.
import type { Operation, WorkEvent } from "./work";

const TITLES: Record<string, string> = {
  plan_created: "Plan created",
  task_created: "Task created",
  steps_added: "Steps added",
  step_defined: "Step described",
  step_verified: "Checkpoints confirmed",
  step_done: "Step closed",
  step_reopened: "Step reopened",
  step_blocked: "Step blocked",
  step_unblocked: "Step unblocked",
  evidence_captured: "Evidence attached",
  undo_applied: "Undone",
  redo_applied: "Redone",
  step_noted: "Note",
  task_moved: "Moved to another plan",
  plan_updated: "Checklist changed",
  contract_updated: "Contract changed",
  task_node_added: "Sub-plan: added",
  task_node_defined: "Sub-plan: described",
  task_node_deleted: "Sub-plan: deleted",
  cards_committed: "Reasoning committed",
  note_committed: "Note committed",
};

/** The label of an event. */
export function eventTitle(type: string): string {
  const known = TITLES[type];
  if (known) return known;
  const text = type.replaceAll("_", " ");
  return text.charAt(0).toUpperCase() + text.slice(1);
}

const FIELDS: Record<string, string> = {
  success_criteria: "criteria",
  depends_on: "dependencies",
};

/** The name of a field as people read it. */
function fieldWord(name: string): string {
  const proof = /^proof_(.+)_mode$/.exec(name);
  return proof ? `proof of ${proof[1]}` : (FIELDS[name] ?? name.replaceAll("_", " "));
}

const SAID = ["note", "title", "reason", "summary", "status", "text"];

/** The most telling value of an event's payload, if any. */
export function eventText(event: WorkEvent): string {
  const payload = event.payload as Record<string, unknown>;
  for (const name of SAID) {
    const value = payload[name];
    if (typeof value === "string" && value) return value;
  }
  for (const name of ["fields", "checkpoints", "confirmed"]) {
    const value = payload[name];
    if (Array.isArray(value) && value.every((one) => typeof one === "string")) return value.map(fieldWord).join(", ");
  }
  if (Array.isArray(payload["steps"])) return `${payload["steps"].length} in total`;
  return "";
}

/** The newest notes on a step, among the known events. */
export function notesOf(events: readonly WorkEvent[], path: string): WorkEvent[] {
  return events
    .filter((event) => event.type === "step_noted" && event.path === path)
    .slice(-3)
    .reverse();
}

/** The colour of an event. */
export function eventTone(type: string): "idle" | "running" | "blocked" | "failed" | "done" {
  if (/(done|completed|closed|verified)$/.test(type)) return "done";
  if (/(unblocked|reopened)$/.test(type)) return "running";
  if (/(blocked|forced)/.test(type)) return "blocked";
  if (/(deleted|failed)$/.test(type)) return "failed";
  return /(evidence|note)/.test(type) ? "running" : "idle";
}

export interface Change {
  where: string;
  field: string;
  before: string;
  after: string;
}

/** A value of the history, abbreviated. */
export function valueText(value: unknown): string {
  if (value === undefined || value === null) return "none";
  if (typeof value === "string") return value === "" ? "empty" : value;
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (Array.isArray(value) && value.every((one) => typeof one === "string")) return value.join(", ") || "none";
  return JSON.stringify(value);
}

const INTENTS: Readonly<Record<string, string>> = {
  task_detail_patch: "Edited",
  plan_detail_patch: "Edited",
  step_patch: "Step edited",
  step_progress: "Step closed or reopened",
  step_block_set: "Step blocked or unblocked",
  macro_close_step: "Step closed",
  evidence_capture: "Evidence attached",
  verify: "Checkpoints confirmed",
  decompose: "Steps added",
  task_add: "Sub-plan extended",
  complete: "Status set",
  move: "Moved to another plan",
};

/** What was done, for people. */
export function intentTitle(intent: string): string {
  const text = intent.replaceAll("_", " ");
  return INTENTS[intent] ?? text.charAt(0).toUpperCase() + text.slice(1);
}

/** The value of a field; moments are numbers of milliseconds on the wire. */
function fieldText(field: string, value: unknown): string {
  const isMoment = field.endsWith("_at_ms") && typeof value === "number";
  return isMoment ? new Date(value).toLocaleString() : valueText(value);
}

/** What an operation changed, field by field, with its side effects. */
export function changes(operation: Operation): Change[] {
  const before = (operation.before ?? {}) as Record<string, unknown>;
  const after = (operation.after ?? {}) as Record<string, unknown>;
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  const own = names
    .filter((field) => JSON.stringify(before[field]) !== JSON.stringify(after[field]))
    .map((field) => ({ where: "", field, before: fieldText(field, before[field]), after: fieldText(field, after[field]) }));
  const followed = operation.derived.map((change) => ({
    where: change.path ? `${change.id} ${change.path}` : change.id,
    field: change.field,
    before: valueText(change.before),
    after: valueText(change.after),
  }));
  return [...own, ...followed];
}

/** The operation that undo would revert: the newest one that can be undone and is not yet. */
export function nextUndo(operations: readonly Operation[]): Operation | undefined {
  return operations.find((operation) => operation.undoable && !operation.undone);
}

/** The operation that redo would apply again: undone last, with no operation since. */
export function nextRedo(operations: readonly Operation[]): Operation | undefined {
  const at = operations.findIndex((operation) => operation.undoable && !operation.undone);
  const above = at < 0 ? operations : operations.slice(0, at);
  return above.findLast((operation) => operation.undone);
}

/** Why operations cannot be undone, and what to do instead. */
const LASTING: Readonly<Record<string, string>> = {
  evidence_capture: "stays: evidence is a record",
  note: "stays: notes are a record",
  create: "cannot be undone: delete it instead",
  bootstrap: "cannot be undone: delete it instead",
  decompose: "cannot be undone: delete the step instead",
  verify: "cannot be undone: take the confirmation back at the step",
  complete: "cannot be undone: set the status or reopen a step",
  delete: "cannot be undone: what was deleted is gone",
  task_delete: "cannot be undone: what was deleted is gone",
};

/** Whether an operation can be undone or redone now, and why not. */
export function undoNote(operation: Operation, operations: readonly Operation[]): string {
  if (operation.undone) {
    return operation === nextRedo(operations) ? "redo applies it again" : "not redone: something was done since";
  }
  if (!operation.undoable) return LASTING[operation.intent] ?? "cannot be undone: change it by hand";
  return operation === nextUndo(operations) ? "undo reverts this" : "can be undone after what came later";
}

/** The URL, if the string is one that may be opened. */
export function webAddress(text: string): string | undefined {
  const address = text.replace(/^LINK:\s*/, "").trim();
  if (!URL.canParse(address)) return undefined;
  return ["http:", "https:"].includes(new URL(address).protocol) ? address : undefined;
}

export interface Receipt {
  kind: "command" | "link" | "text";
  text: string;
}

/** A check line: `CMD:` is a command, `LINK:` a URL. */
export function receipt(line: string): Receipt {
  if (line.startsWith("CMD:")) return { kind: "command", text: line.slice(4).trim() };
  if (line.startsWith("LINK:")) return { kind: "link", text: line.slice(5).trim() };
  return { kind: "text", text: line };
}
