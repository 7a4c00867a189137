// Labels and colours of statuses, the same everywhere.
import type { NodeStatus, Phase, RunStatus, Node, StallRule, Turn } from "../api/wire";

type TurnReason = NonNullable<Node["lastTurn"]>["reason"];
export type Tone = "idle" | "running" | "blocked" | "failed" | "done";

const PHASES: Record<Phase, string> = {
  BOOT: "Boot",
  EXECUTE: "Execute",
  VERIFY: "Verify",
  DOCS_SYNC: "Docs",
  DONE: "Done",
};

/** The label of a phase. */
export const phaseWord = (phase: Phase): string => PHASES[phase];

const RUN_TONES: Record<RunStatus, Tone> = {
  queued: "idle",
  running: "running",
  paused: "blocked",
  completed: "done",
  failed: "failed",
};

const NODE_TONES: Record<NodeStatus, Tone> = { idle: "idle", running: "running", blocked: "blocked", failed: "failed" };

const RUN_WORDS: Record<RunStatus, string> = {
  queued: "Queued",
  running: "Running",
  paused: "Paused",
  completed: "Completed",
  failed: "Failed",
};

export const runWord = (status: RunStatus): string => RUN_WORDS[status];

export const runTone = (status: RunStatus): Tone => RUN_TONES[status];
export const nodeTone = (status: NodeStatus): Tone => NODE_TONES[status];

/** How a turn is going or how it ended. */
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

/** Why a node is blocked or waiting, in a few words. */
export function nodeNote(node: Node): string {
  if (node.blockedReason) return node.blockedReason.message;
  if (node.retry) return `retry ${node.retry.attempt} of ${node.retry.max}`;
  if (node.waitingFor) return node.waitingFor.note ?? "waiting for other nodes";
  return "";
}

const STALLS: Record<StallRule, string> = {
  output: "the same output repeats",
  diff: "the same change repeats",
  oscillation: "alternates between two results",
  verification: "the same checks keep failing",
  reported: "reported that it is going in circles",
  handoffs: "keeps passing tasks back and forth with another node",
  no_progress: "no file changed and no check passed",
};

/** The evidence of a stall, in a few words. */
export const stallWords = (rule: StallRule): string => STALLS[rule];

/** How many todos are done, of how many. */
export function todoCount(node: Node): { done: number; total: number } {
  return { done: node.todos.filter((todo) => todo.status === "completed").length, total: node.todos.length };
}

const ENDS: Partial<Record<TurnReason, string>> = {
  user_interrupt: "was interrupted by a person",
  run_paused: "was interrupted when the run was paused",
  server_restart: "ended because the server was restarted",
  server_shutdown: "ended because the server was stopped",
  node_stopped: "ended because the node was stopped",
  node_reset: "ended because the node was reset",
  spawn_failed: "could not start: the agent's program is missing or cannot be run",
  handshake_failed: "could not start: the agent's program did not answer",
  exited: "failed: the agent's program ended in the middle of it",
  silent: "failed: the agent sent nothing for too long",
  turn_timeout: "failed: it took too long",
  protocol_error: "failed: the agent's output could not be read",
};

/** How a turn ended, as the end of a sentence. */
export function turnEnd({ status, reason }: { status: string; reason: TurnReason }): string {
  return ENDS[reason] ?? `${status === "completed" ? "ended" : status}: ${reason.replaceAll("_", " ")}`;
}

const SETTINGS: Readonly<Record<string, string>> = {
  alias: "short name",
  customSystemPrompt: "instructions",
  label: "name",
  "permissions.cliPermissionsMode": "whether it asks before it acts",
  promptOverride: "prompt",
  providerProfile: "profile",
  roleTemplate: "role",
};

/** A setting of a node as people read it: `budget.maxTurns` is "max turns". */
export function settingWord(path: string): string {
  const last = path.split(".").at(-1) ?? path;
  return SETTINGS[path] ?? last.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
}
