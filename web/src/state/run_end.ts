// What is said at the end of a run: how each line of "done when" is known, and what a person does next.
import type { RunEnding } from "../api/wire";
import type { Tone } from "./words";

type DoneState = RunEnding["doneWhen"][number]["state"];
type Check = RunEnding["checks"][number];
export type NextStep = RunEnding["next"][number];

const STATES: Record<DoneState, { word: string; tone: Tone }> = {
  proven: { word: "met, proven", tone: "done" },
  claimed: { word: "met, claimed", tone: "running" },
  unmet: { word: "not met", tone: "failed" },
  open: { word: "open", tone: "blocked" },
};

export const doneWord = (state: DoneState): string => STATES[state].word;
export const doneTone = (state: DoneState): Tone => STATES[state].tone;

/** The verdict of a check; one that is optional says so when it failed. */
export function checkVerdict(check: Pick<Check, "ok" | "required" | "timedOut">): { word: string; tone: Tone } {
  if (check.ok) return { word: "passed", tone: "done" };
  const word = check.timedOut ? "took too long" : "failed";
  return check.required ? { word, tone: "failed" } : { word: `${word}, optional`, tone: "blocked" };
}

/** How the end looks as a whole. */
export function endTone({ status, checks }: Pick<RunEnding, "status" | "checks">): "done" | "failed" | "blocked" {
  if (status === "failed" || checks.some((check) => !check.ok && check.required)) return "failed";
  return checks.length === 0 ? "blocked" : "done";
}
