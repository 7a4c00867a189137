// What can be done about something that waits, in words and in keys.
import type { Attention, Approval, Run, RunEvent } from "../api/wire";

/** What the server says waits, and completions that were refused, which only the log tells. */
export type Waiting = Omit<Attention, "kind"> & { kind: Attention["kind"] | "refused" };

export type AnswerKind = "approve" | "deny" | "edit" | "resume" | "start" | "reset" | "reply" | "dismiss" | "open";

export interface AnswerChoice {
  kind: AnswerKind;
  title: string;
  keys: string;
}

const WORDS: Record<Waiting["kind"], string> = {
  approval: "Approval",
  question: "Question",
  stall: "Stalled",
  node_failed: "Node failed",
  verify_failed: "Checks failed",
  budget: "Budget",
  violation: "Violation",
  restart: "Restarted",
  refused: "Not done yet",
};

/** A kind in a word. */
export function kindWord(kind: Waiting["kind"]): string {
  return WORDS[kind];
}

/** How urgent a kind looks. */
export function kindTone(kind: Waiting["kind"]): "blocked" | "failed" | "running" {
  switch (kind) {
    case "approval":
    case "question":
    case "budget":
    case "refused":
      return "blocked";
    case "restart":
      return "running";
    case "stall":
    case "node_failed":
    case "verify_failed":
    case "violation":
      return "failed";
  }
}

/** The answers that there are, the likely one first. */
export function choices(item: Waiting, approval: Approval | undefined): AnswerChoice[] {
  const open: AnswerChoice = { kind: "open", title: "Open", keys: "Enter" };
  switch (item.kind) {
    case "approval": {
      const edit: AnswerChoice[] = approval?.canModify ? [{ kind: "edit", title: "Edit", keys: "e" }] : [];
      return [
        { kind: "approve", title: "Approve", keys: "y" },
        { kind: "deny", title: "Deny", keys: "n" },
        ...edit,
        open,
      ];
    }
    case "question":
      return [{ kind: "reply", title: "Answer", keys: "y" }, open];
    case "stall":
      return [
        { kind: "resume", title: "Resume", keys: "y" },
        ...(item.nodeId ? [{ kind: "reset" as const, title: "Reset node", keys: "n" }] : []),
        open,
      ];
    case "node_failed":
    case "violation":
      return item.nodeId
        ? [{ kind: "start", title: "Start again", keys: "y" }, open]
        : [{ kind: "resume", title: "Resume", keys: "y" }, open];
    case "verify_failed":
    case "restart":
      return [{ kind: "resume", title: "Resume", keys: "y" }, open];
    case "refused":
      return [{ kind: "dismiss", title: "Dismiss", keys: "y" }, open];
    case "budget":
      return [open];
  }
}

/** One key for an item that stays the same while it waits. */
export function itemKey(item: Waiting): string {
  return [item.kind, item.runId, item.nodeId ?? "", item.refId ?? ""].join(" ");
}

/** The node's label, or nothing when the run is not known. */
export function nodeLabel(item: Waiting, run: Run | undefined): string | undefined {
  return item.nodeId ? run?.nodes[item.nodeId]?.label : undefined;
}

/** Codes with which a run refuses to be called done (RUNS-DONE-2). */
const REFUSALS = new Set(["OPEN_WORK", "TASK_NOT_DONE"]);

/** Whether an event says that a completion was refused. */
export function isRefusal(event: RunEvent): boolean {
  return event.type === "tool.completed" && REFUSALS.has(event.error?.code ?? "");
}

/** The last refusal among these events, oldest first, unless the run was accepted as done after it. */
export function refusedCompletion(events: readonly RunEvent[]): Waiting | undefined {
  const at = events.findLastIndex(isRefusal);
  const event = events[at];
  if (event?.type !== "tool.completed") return undefined;
  if (events.slice(at).some((later) => later.type === "run.phase" && later.phase === "VERIFY")) return undefined;
  const title = `Completion refused: ${event.error?.message ?? event.error?.code ?? ""}`;
  return {
    kind: "refused",
    runId: event.runId,
    nodeId: event.nodeId ?? null,
    refId: String(event.seq),
    title,
    since: event.ts,
  };
}
