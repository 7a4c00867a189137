// Labels and colours of the states of sessions, turns and connections.
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

/** The colour of a status word in an event. */
export function wordTone(word: string): Tone {
  if (/^(completed|done|ok|finished|allow)/.test(word)) return "done";
  if (/^(failed|error|deny)/.test(word)) return "failed";
  if (/^(interrupted|canceled|cancelled|blocked|waiting)/.test(word)) return "blocked";
  return /^(running|started|active)/.test(word) ? "running" : "idle";
}

/** The state of the connection. */
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
