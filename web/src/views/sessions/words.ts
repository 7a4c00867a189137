// How states of sessions, turns and connections look and read.
import type { StreamState } from "../../api/retry";
import type { Session } from "../../api/wire";

type Tone = "idle" | "running" | "blocked" | "failed" | "done";

const STATUS: Record<Session["status"], Tone> = {
  starting: "running",
  idle: "idle",
  running: "running",
  completed: "done",
  failed: "failed",
  stopped: "blocked",
};

export function statusTone(status: Session["status"]): Tone {
  return STATUS[status];
}

/** A word that events bring, in a colour. */
export function wordTone(word: string): Tone {
  if (/^(completed|done|ok|finished|allow)/.test(word)) return "done";
  if (/^(failed|error|deny)/.test(word)) return "failed";
  if (/^(interrupted|canceled|cancelled|blocked|waiting)/.test(word)) return "blocked";
  return /^(running|started|active)/.test(word) ? "running" : "idle";
}

/** What the connection does. */
export function streamWord(state: StreamState): { tone: Tone; text: string } {
  switch (state.kind) {
    case "live":
      return { tone: "done", text: "Live" };
    case "connecting":
    case "catching-up":
      return { tone: "running", text: "Catching up" };
    case "waiting":
      return { tone: "blocked", text: "Reconnecting" };
    case "ended":
      return { tone: "failed", text: state.reason };
  }
}
