// Everything that waits for a person, about runs and about work, in one list.
import type { Attention, WorkAttention } from "../api/wire";
import { itemKey, kindTone, kindWord } from "./attention";
import type { Tone } from "./work";

export type Waiting = { of: "run"; item: Attention } | { of: "work"; item: WorkAttention };
export type WorkAnswer = WorkAttention["actions"][number] | "hide" | "open";

export interface WorkChoice {
  kind: WorkAnswer;
  title: string;
  keys: string;
}

/** What somebody waits for comes before what went wrong. */
function isAsked(waiting: Waiting): boolean {
  return waiting.of === "run"
    ? waiting.item.kind === "approval" || waiting.item.kind === "question"
    : ["waiver_asked", "definitions_changed", "protected_changed", "agent_waits"].includes(waiting.item.kind);
}

/** Both lists together: approvals and questions first, then failures, each oldest first. */
export function waitingList(items: readonly Attention[], work: readonly WorkAttention[]): Waiting[] {
  const all: Waiting[] = [
    ...items.map((item) => ({ of: "run" as const, item })),
    ...work.map((item) => ({ of: "work" as const, item })),
  ];
  const order = (one: Waiting): number => (isAsked(one) ? 0 : 1);
  return all.sort((a, b) => order(a) - order(b) || Date.parse(a.item.since) - Date.parse(b.item.since));
}

/** A key of an item until it happens again: what was put away comes back then. */
export function occurrence(waiting: Waiting): string {
  return `${waitingKey(waiting)} ${waiting.item.since}`;
}

/** A key that stays the same while something waits. */
export function waitingKey(waiting: Waiting): string {
  if (waiting.of === "run") return itemKey(waiting.item);
  const { kind, workspace, taskId, stepId, check, project, sessionId } = waiting.item;
  return [kind, workspace, taskId, stepId, check, project, sessionId].map((part) => part ?? "").join(" ");
}

const WORDS: Record<WorkAttention["kind"], string> = {
  check_failed: "Check failed",
  definitions_changed: "Definitions changed",
  waiver_asked: "Waiver asked for",
  protected_changed: "Protected files",
  flaky_check: "Flaky check",
  doubtful_pass: "Doubtful pass",
  agent_stopped: "Agent stopped",
  agent_waits: "Agent waits",
};
const TONES: Record<WorkAttention["kind"], Tone> = {
  check_failed: "failed",
  definitions_changed: "blocked",
  waiver_asked: "blocked",
  protected_changed: "blocked",
  flaky_check: "running",
  doubtful_pass: "running",
  agent_stopped: "failed",
  agent_waits: "blocked",
};

export function waitingWord(waiting: Waiting): string {
  return waiting.of === "run" ? kindWord(waiting.item.kind) : WORDS[waiting.item.kind];
}

export function waitingTone(waiting: Waiting): Tone {
  return waiting.of === "run" ? kindTone(waiting.item.kind) : TONES[waiting.item.kind];
}

/** Where it is, in a few words. */
export function workPlace(item: WorkAttention): string {
  return [item.workspace, item.taskId, item.path].filter(Boolean).join(" · ");
}

const TITLES: Partial<Record<WorkAnswer, string>> = { run: "Run again", waive: "Waive …", decline: "Decline" };

/** What can be done at once. Definitions and protected files are decided about where they are shown. */
export function workChoices(item: WorkAttention): WorkChoice[] {
  const asked = item.kind === "waiver_asked";
  const keys: Partial<Record<WorkAnswer, string>> = asked ? { waive: "y", decline: "n" } : { run: "g", waive: "" };
  const order = (asked || item.taskId ? Object.keys(keys) : []) as WorkAnswer[];
  const offered = order.filter((kind) => (item.actions as readonly WorkAnswer[]).includes(kind));
  const found = offered.map((kind) => ({ kind, title: TITLES[kind] ?? kind, keys: keys[kind] ?? "" }));
  // An agent is answered where it runs, so a person may not want to see it here.
  return isAsked({ of: "work", item }) && item.kind !== "agent_waits" ? found : [...found, { kind: "hide", title: "Hide", keys: "x" }];
}
