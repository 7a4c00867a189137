// Plans, tasks and steps for display: trees, gates, labels.
import type { OperationResult } from "../api/client";

export type WorkList = OperationResult<"tasks_context">;
export type PlanRow = WorkList["plans"][number];
export type TaskRow = WorkList["tasks"][number];
export type Whole = OperationResult<"tasks_resume">;
export type Target = Whole["target"];
export type Step = NonNullable<Whole["steps"]>[number];
export type SubNode = Step["nodes"][number];
export type WorkEvent = Whole["timeline"]["events"][number];
export type Evidence = OperationResult<"tasks_evidence_get">["evidence"][number];
export type Operation = OperationResult<"tasks_history">["operations"][number];
export type Thinking = OperationResult<"tasks_resume_super">;
export type Card = Thinking["memory"]["cards"][number];
export type Status = TaskRow["status"];
export type Priority = TaskRow["priority"];
export type Checkpoint = Evidence["checkpoints"][number];
export type Tone = "idle" | "running" | "blocked" | "failed" | "done";

export const STATUSES: readonly Status[] = ["TODO", "ACTIVE", "DONE"];
export const CHECKPOINTS: readonly Checkpoint[] = ["criteria", "tests", "security", "perf", "docs"];

const STATUS_WORDS: Record<Status, string> = { TODO: "Todo", ACTIVE: "Active", DONE: "Done" };
const STATUS_TONES: Record<Status, Tone> = { TODO: "idle", ACTIVE: "running", DONE: "done" };
const CHECKPOINT_WORDS: Record<Checkpoint, string> = {
  criteria: "Criteria",
  tests: "Tests",
  security: "Security",
  perf: "Performance",
  docs: "Docs",
};

export const statusWord = (status: Status): string => STATUS_WORDS[status];
export const statusTone = (status: Status): Tone => STATUS_TONES[status];
export const checkpointWord = (checkpoint: Checkpoint): string => CHECKPOINT_WORDS[checkpoint];

/** A wire name as a label: `step_done` is `Step done`. */
export function words(name: string): string {
  const text = name.replaceAll("_", " ").toLowerCase();
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** One checkpoint of a step: whether closing needs it, and its confirmation and proof. */
export interface Gate {
  checkpoint: Checkpoint;
  needed: boolean;
  confirmed: boolean;
  proof: "off" | "warn" | "require";
  proven: boolean;
}

/** The checkpoints that apply to a step, in order. */
export function gates(step: Step): Gate[] {
  const all: Gate[] = [
    { checkpoint: "criteria", needed: true, confirmed: step.criteria_confirmed, proof: "off", proven: false },
    {
      checkpoint: "tests",
      needed: true,
      confirmed: step.tests_confirmed,
      proof: step.proof_tests_mode,
      proven: step.proof_tests_present,
    },
    {
      checkpoint: "security",
      needed: step.require_security,
      confirmed: step.security_confirmed,
      proof: step.proof_security_mode,
      proven: step.proof_security_present,
    },
    {
      checkpoint: "perf",
      needed: step.require_perf,
      confirmed: step.perf_confirmed,
      proof: step.proof_perf_mode,
      proven: step.proof_perf_present,
    },
    {
      checkpoint: "docs",
      needed: step.require_docs,
      confirmed: step.docs_confirmed,
      proof: step.proof_docs_mode,
      proven: step.proof_docs_present,
    },
  ];
  return all.filter((gate) => gate.needed || gate.confirmed || gate.proof !== "off" || gate.proven);
}

/** What a step still lacks before it can close; empty when its gate is open. */
export function missing(step: Step, steps: readonly Step[]): string[] {
  const list = gates(step);
  const unconfirmed = list
    .filter((gate) => gate.needed && !gate.confirmed)
    .map((gate) => `${checkpointWord(gate.checkpoint)} not confirmed`);
  const unproven = list
    .filter((gate) => gate.proof === "require" && !gate.proven)
    .map((gate) => `no proof of ${checkpointWord(gate.checkpoint).toLowerCase()}`);
  const below = steps.filter((other) => other.path.startsWith(`${step.path}.`) && !other.completed).length;
  const nodes = step.nodes.filter((node) => node.status !== "DONE").length;
  return [
    ...(step.blocked ? [step.block_reason ? `blocked: ${step.block_reason}` : "blocked"] : []),
    ...unconfirmed,
    ...unproven,
    ...(below > 0 ? [`open substeps: ${below}`] : []),
    ...(nodes > 0 ? [`open sub-plan nodes: ${nodes}`] : []),
  ];
}

/** The depth of a step: `s:0` is 0, `s:0.s:2` is 1. */
export function depth(path: string): number {
  return path.split(".").length - 1;
}

/** Whether a path is below one of these. */
export function isBelow(path: string, closed: ReadonlySet<string>): boolean {
  let at = path.lastIndexOf(".");
  while (at > 0) {
    if (closed.has(path.slice(0, at))) return true;
    at = path.lastIndexOf(".", at - 1);
  }
  return false;
}

export interface Branch {
  plan: PlanRow | undefined;
  id: string;
  tasks: TaskRow[];
}

/** Tasks grouped by plan; those of plans that are not listed are grouped by the plan's id. */
export function branches(list: { plans: readonly PlanRow[]; tasks: readonly TaskRow[] }): Branch[] {
  const found = new Map<string, Branch>(list.plans.map((plan) => [plan.id, { plan, id: plan.id, tasks: [] }]));
  for (const task of list.tasks) {
    const branch = found.get(task.parent) ?? { plan: undefined, id: task.parent, tasks: [] };
    branch.tasks.push(task);
    found.set(task.parent, branch);
  }
  return [...found.values()];
}

const URGENCY: Record<Priority, number> = { CRITICAL: 0, HIGH: 1, MEDIUM: 2, LOW: 3 };

/** The number in an id: `TASK-012` is 12. */
const numberOf = ({ id }: TaskRow): number => Number(/\d+$/.exec(id)?.[0] ?? 0);

/**
 * The order in which tasks are worked on, as `tasks_next` gives it: those that can begin, then by priority, then the
 * oldest. Done ones come newest first.
 */
export function byRank(a: TaskRow, b: TaskRow): number {
  if (a.status === "DONE" && b.status === "DONE") return b.updated_at_ms - a.updated_at_ms;
  return (
    Number(a.waiting) - Number(b.waiting) || URGENCY[a.priority] - URGENCY[b.priority] || numberOf(a) - numberOf(b)
  );
}

/** Joins pages of a list; a row that came twice is listed once, in its latest form. */
export function joinedRows<T extends { id: string }>(before: readonly T[], next: readonly T[]): T[] {
  const rows = new Map(before.map((row) => [row.id, row]));
  for (const row of next) rows.set(row.id, row);
  return [...rows.values()];
}

/** A plan or task that another one is linked to. */
export interface Related {
  id: string;
  title: string;
  done: boolean;
}

export interface Relations {
  needs: readonly Related[];
  neededBy: readonly Related[];
  /** How many depend on it in total. */
  neededByTotal: number;
}

export function relatedRow(row: { id: string; title: string; status: Status }): Related {
  return { id: row.id, title: row.title, done: row.status === "DONE" };
}

/** Joins events of one log, oldest first; a newer page with a gap before it replaces the known ones. */
export function joinedEvents(known: readonly WorkEvent[], page: readonly WorkEvent[], full: boolean): WorkEvent[] {
  const last = known.at(-1)?.seq ?? 0;
  const first = page[0]?.seq ?? 0;
  if (full && first > last) return [...page];
  const rows = new Map([...known, ...page].map((event) => [event.seq, event]));
  return [...rows.values()].sort((a, b) => a.seq - b.seq);
}

/** Whether events concern a plan or task, or one that it is linked to. */
export function concernsTask(events: readonly WorkEvent[], id: string, tied: ReadonlySet<string>): boolean {
  const about = (event: WorkEvent): boolean =>
    event.task_id === id || tied.has(event.task_id) || JSON.stringify(event.payload).includes(`"${id}"`);
  return events.length === 0 || events.some(about);
}

/** Whether an id names a plan or a task: `PLAN-` ids are plans. */
export function isPlan(id: string): boolean {
  return id.startsWith("PLAN-");
}
