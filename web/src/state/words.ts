// Statuses as words and tones, the same everywhere.
import type { NodeStatus, Phase, RunStatus, Node, StallRule, Turn } from "../api/wire";

export type Tone = "idle" | "running" | "blocked" | "failed" | "done";

const PHASES: Record<Phase, string> = {
  BOOT: "Boot",
  EXECUTE: "Execute",
  VERIFY: "Verify",
  DOCS_SYNC: "Docs",
  DONE: "Done",
};

/** A phase in a word. */
export const phaseWord = (phase: Phase): string => PHASES[phase];

const RUN_TONES: Record<RunStatus, Tone> = {
  queued: "idle",
  running: "running",
  paused: "blocked",
  completed: "done",
  failed: "failed",
};

const NODE_TONES: Record<NodeStatus, Tone> = { idle: "idle", running: "running", blocked: "blocked", failed: "failed" };

export const runTone = (status: RunStatus): Tone => RUN_TONES[status];
export const nodeTone = (status: NodeStatus): Tone => NODE_TONES[status];

/** How a turn stands or ended. */
export function turnTone(turn: Pick<Turn, "status">): Tone {
  switch (turn.status) {
    case "completed":
      return "done";
    case "interrupted":
      return "blocked";
    case "failed":
      return "failed";
    default:
      return "running";
  }
}

/** Why a blocked or waiting node stands still, in a few words. */
export function nodeNote(node: Node): string {
  if (node.blockedReason) return node.blockedReason.message;
  if (node.retry) return `retry ${node.retry.attempt} of ${node.retry.max}`;
  if (node.waitingFor) return node.waitingFor.note ?? "waits for others";
  return "";
}

const STALLS: Record<StallRule, string> = {
  output: "repeats itself",
  diff: "makes the same change again and again",
  oscillation: "goes back and forth between two results",
  verification: "the same checks fail again and again",
  reported: "says that it goes in circles",
  handoffs: "hands tasks back and forth with another node",
  no_progress: "no changed file and no passed check",
};

/** What shows that a run goes in circles, in a few words. */
export const stallWords = (rule: StallRule): string => STALLS[rule];

/** Todos that are done, and all of them. */
export function todoCount(node: Node): { done: number; total: number } {
  return { done: node.todos.filter((todo) => todo.status === "completed").length, total: node.todos.length };
}
