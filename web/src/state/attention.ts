// What a person can do about an item that waits, with titles and keys.
import type { Attention, Approval, Run } from "../api/wire";

export type AnswerKind = "approve" | "deny" | "edit" | "resume" | "start" | "reset" | "reply" | "resend" | "dismiss" | "hide" | "open";

/** What an opened item asks before it is answered. */
export type Asking = "deny" | "edit" | "reply" | "always";

export interface AnswerChoice {
  kind: AnswerKind;
  title: string;
  keys: string;
}

const WORDS: Record<Attention["kind"], string> = {
  approval: "Approval",
  question: "Question",
  stall: "Stalled",
  node_failed: "Node failed",
  input_failed: "Input failed",
  verify_failed: "Checks failed",
  budget: "Budget",
  violation: "Violation",
  restart: "Restarted",
  refused: "Not done yet",
};

/** The title of a kind. */
export function kindWord(kind: Attention["kind"]): string {
  return WORDS[kind];
}

/** How urgent a kind looks. */
export function kindTone(kind: Attention["kind"]): "blocked" | "failed" | "running" {
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
    case "input_failed":
    case "verify_failed":
    case "violation":
      return "failed";
  }
}

/**
 * The possible answers, the likely one first. `y` approves and does nothing else anywhere; `g` lets something go on,
 * `m` sends a message, `x` puts the item away.
 */
export function choices(item: Attention, approval: Approval | undefined): AnswerChoice[] {
  const open: AnswerChoice = { kind: "open", title: "Open", keys: "Enter" };
  const hide: AnswerChoice = { kind: "hide", title: "Hide", keys: "x" };
  const reply: AnswerChoice = { kind: "reply", title: "Answer", keys: "m" };
  const resume: AnswerChoice = { kind: "resume", title: "Resume", keys: "g" };
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
      return [reply, open];
    case "stall":
      return [resume, ...(item.nodeId ? [{ kind: "reset" as const, title: "Reset node", keys: "" }] : []), hide, open];
    case "node_failed":
    case "violation":
      return [item.nodeId ? { kind: "start", title: "Start again", keys: "g" } : resume, hide, open];
    case "input_failed":
      return [{ kind: "resend", title: "Send again", keys: "g" }, hide, open];
    case "verify_failed":
    case "restart":
      return [resume, hide, open];
    case "refused":
      // The node that declared the run done can be sent what is missing.
      return [{ kind: "dismiss", title: "Dismiss", keys: "x" }, ...(item.nodeId ? [reply] : []), open];
    case "budget":
      return [hide, open];
  }
}

/** A key of an item that stays the same while it waits. */
export function itemKey(item: Attention): string {
  return [item.kind, item.runId, item.nodeId ?? "", item.refId ?? ""].join(" ");
}

/** The node's label; empty when the run is not known. */
export function nodeLabel(item: Attention, run: Run | undefined): string | undefined {
  return item.nodeId ? run?.nodes[item.nodeId]?.label : undefined;
}
