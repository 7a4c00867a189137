// Everything that waits for a person, about runs and about work, in one list.
import type { Attention, WorkAttention } from "../api/wire";
import { itemKey, kindTone, kindWord } from "./attention";
import type { Tone } from "./work";

export type Waiting = { of: "run"; item: Attention } | { of: "work"; item: WorkAttention };
export type WorkAnswer = WorkAttention["actions"][number] | "open";

export interface WorkChoice {
  kind: WorkAnswer;
  title: string;
  keys: string;
}

/** Both lists together, oldest first. */
export function waitingList(items: readonly Attention[], work: readonly WorkAttention[]): Waiting[] {
  const all: Waiting[] = [
    ...items.map((item) => ({ of: "run" as const, item })),
    ...work.map((item) => ({ of: "work" as const, item })),
  ];
  return all.sort((a, b) => Date.parse(a.item.since) - Date.parse(b.item.since));
}

/** A key that stays the same while something waits. */
export function waitingKey(waiting: Waiting): string {
  if (waiting.of === "run") return itemKey(waiting.item);
  const { kind, workspace, taskId, stepId, check, project } = waiting.item;
  return [kind, workspace, taskId, stepId, check, project].map((part) => part ?? "").join(" ");
}

const WORDS: Record<WorkAttention["kind"], string> = {
  check_failed: "Check failed",
  definitions_changed: "Definitions changed",
  waiver_asked: "Waiver asked for",
  protected_changed: "Protected files",
  flaky_check: "Flaky check",
  doubtful_pass: "Doubtful pass",
  agent_stopped: "Agent stopped",
};
const TONES: Record<WorkAttention["kind"], Tone> = {
  check_failed: "failed",
  definitions_changed: "blocked",
  waiver_asked: "blocked",
  protected_changed: "blocked",
  flaky_check: "running",
  doubtful_pass: "running",
  agent_stopped: "failed",
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

/** What can be done at once. Definitions and protected files are decided about where they are shown. */
export function workChoices(item: WorkAttention): WorkChoice[] {
  const titles: Partial<Record<WorkAnswer, string>> = { run: "Run again", waive: "Waive …", decline: "Decline" };
  const order: readonly WorkAnswer[] =
    item.kind === "waiver_asked" ? ["waive", "decline"] : item.taskId ? ["run", "waive"] : [];
  return order
    .filter((kind) => (item.actions as readonly WorkAnswer[]).includes(kind))
    .map((kind, at) => ({ kind, title: titles[kind] ?? kind, keys: at === 0 ? "y" : "n" }));
}
