// The checks of a task for display: one row per check, its places, its state in words, its output.
import type { OperationResult } from "../api/client";
import { counted } from "../ui/format";
import type { Tone } from "./work";

export type TaskProof = OperationResult<"tasks_proof">;
export type CheckProof = TaskProof["checks"][number];
export type StepProof = TaskProof["steps"][number];
export type CheckState = CheckProof["state"];
export type Waiver = NonNullable<CheckProof["waivers"]>[number];
export type WaiverRequest = TaskProof["waivers_asked"][number];
export type Finding = TaskProof["findings"][number];
export type Counts = NonNullable<CheckProof["counts"]>;

/** Where a check is asked for: by a step, or by the whole task without one. */
export interface Place {
  step: { id: string; path: string; title: string; completed: boolean } | undefined;
  state: CheckState;
  /** The run with which the step was closed. */
  closedWith: string | undefined;
}

/** A check with all places that ask for it. */
export interface CheckRow {
  name: string;
  /** The state that is shown: the worst one of its places that are still open. */
  state: CheckState;
  check: CheckProof;
  places: Place[];
  waivers: { waiver: Waiver; step: Place["step"] }[];
}

const WORDS: Record<CheckState, string> = {
  passed: "Passed",
  waived: "Waived",
  missing: "Never run",
  running: "Running",
  failed: "Failed",
  timed_out: "Timed out",
  empty: "No test ran",
  stale: "Stale",
  untrusted: "Not accepted",
  review: "Wants a look",
};
const TONES: Record<CheckState, Tone> = {
  passed: "done",
  waived: "blocked",
  missing: "idle",
  running: "running",
  failed: "failed",
  timed_out: "failed",
  empty: "failed",
  stale: "blocked",
  untrusted: "blocked",
  review: "blocked",
};
const MEANINGS: Partial<Record<CheckState, string>> = {
  stale: "Its last verdict is about other files.",
  missing: "It never ran on files like these.",
  untrusted: "No accepted definition has this name.",
  empty: "The command succeeded, but no test ran.",
};
/** The worst first. */
const ORDER: readonly CheckState[] = [
  "failed",
  "timed_out",
  "empty",
  "running",
  "untrusted",
  "review",
  "stale",
  "missing",
  "waived",
  "passed",
];

export const stateWord = (state: CheckState): string => WORDS[state];
export const stateTone = (state: CheckState): Tone => TONES[state];
export const stateMeaning = (state: CheckState): string => MEANINGS[state] ?? "";
export const holds = (state: CheckState): boolean => state === "passed" || state === "waived";

/** A check that is asked for in one place. */
interface Asked {
  check: CheckProof;
  step: Place["step"];
}

function askedFor(proof: TaskProof, path: string | undefined): Asked[] {
  const ofTask = path === undefined ? proof.checks.map((check) => ({ check, step: undefined })) : [];
  const ofSteps = proof.steps
    .filter((step) => path === undefined || step.path === path)
    .flatMap(({ step_id: id, path, title, completed, checks }) =>
      checks.map((check) => ({ check, step: { id, path, title, completed } })),
    );
  return [...ofTask, ...ofSteps];
}

/** One row per check, the ones that need a look first; with a path, only those of that step. */
export function checkRows(proof: TaskProof, path?: string): CheckRow[] {
  const rows = new Map<string, CheckRow>();
  for (const { check, step } of askedFor(proof, path)) {
    const place: Place = { step, state: check.state, closedWith: check.closed_with };
    const waivers = (check.waivers ?? [])
      .filter((waiver) => waiver.of_task === (step === undefined) || path !== undefined)
      .map((waiver) => ({ waiver, step: waiver.of_task ? undefined : step }));
    const known = rows.get(check.name);
    if (!known) {
      rows.set(check.name, { name: check.name, state: check.state, check, places: [place], waivers });
      continue;
    }
    known.places.push(place);
    known.waivers.push(...waivers);
    // A verdict is the same in all places, but one of them may be waived and then hides the output.
    if (rank(check.state) < rank(known.check.state)) known.check = check;
  }
  return [...rows.values()].map(withState).sort((a, b) => rank(a.state) - rank(b.state) || (a.name < b.name ? -1 : 1));
}

function withState(row: CheckRow): CheckRow {
  const open = row.places.filter((place) => !place.step?.completed);
  const counted = open.length > 0 ? open : row.places;
  const state = counted.map((place) => place.state).sort((a, b) => rank(a) - rank(b))[0] ?? row.state;
  return { ...row, state };
}

const rank = (state: CheckState): number => ORDER.indexOf(state);

/** `241 passed, 1 failed, 2 skipped`; only what there is. */
export function countsText(counts: Counts | undefined): string {
  if (!counts) return "";
  const parts = [
    `${counts.passed.toLocaleString()} passed`,
    ...(counts.failed > 0 ? [`${counts.failed.toLocaleString()} failed`] : []),
    ...(counts.skipped > 0 ? [`${counts.skipped.toLocaleString()} skipped`] : []),
  ];
  return parts.join(", ");
}

/** How many of the checks hold, in a sentence. */
export function holdText(rows: readonly CheckRow[]): string {
  const holding = rows.filter((row) => holds(row.state)).length;
  if (rows.length === 0) return "Nothing has to be checked";
  if (holding === rows.length) return rows.length === 1 ? "The check holds on these files" : "All checks hold on these files";
  return `${holding} of ${counted(rows.length, "check")} ${holding === 1 ? "holds" : "hold"} on these files`;
}

/** The same in a few characters: `2/3`, or empty without checks. */
export function holdNote(proof: TaskProof): string {
  const rows = checkRows(proof);
  return rows.length === 0 ? "" : `${rows.filter((row) => holds(row.state)).length}/${rows.length}`;
}

/** Checks that keep something from closing, in words. */
export function openChecks(rows: readonly CheckRow[]): string[] {
  return rows.filter((row) => !holds(row.state)).map((row) => `${row.name}: ${stateWord(row.state).toLowerCase()}`);
}

/** Whom a waiver is for and until when. */
export function waiverUntil(waiver: Waiver): string {
  if (!waiver.scope) return "for good";
  return waiver.holds ? "for these files" : "for other files, so it no longer counts";
}

/** Names of checks that a run could bring forward. */
export function runnable(rows: readonly CheckRow[]): string[] {
  const wanted: readonly CheckState[] = ["missing", "stale", "failed", "timed_out", "empty"];
  return rows.filter((row) => wanted.includes(row.state)).map((row) => row.name);
}

const PHASES: Readonly<Record<string, string>> = {
  queued: "is about to start",
  waiting: "waits for another check in this directory",
  started: "is running",
  repeated: "runs once more, because files changed while it ran",
};

/** How far a run is, after its name. */
export const phaseText = (phase: string): string => PHASES[phase] ?? "is running";

/** Characters of output that a page keeps of a run. */
export const OUTPUT_CHARS_MAX = 200_000;

/** The end of a run's output. */
export interface Output {
  text: string;
  /** Where to continue. */
  offset: number;
  /** Bytes written so far. */
  bytes: number;
  /** Whether the beginning is left out. */
  cut: boolean;
  ended: boolean;
  /** What the run does at the moment, such as waiting for another check. */
  phase: string;
}

export const NO_OUTPUT: Output = { text: "", offset: 0, bytes: 0, cut: false, ended: false, phase: "" };

/** Adds what came next; the beginning goes when it is too long, a whole line at a time. */
export function continued(
  output: Output,
  piece: { text: string; next_offset: number; bytes: number; ended: boolean; phase?: string },
): Output {
  const whole = output.text + piece.text;
  const excess = whole.length - OUTPUT_CHARS_MAX;
  const end = excess > 0 ? whole.indexOf("\n", excess) : -1;
  const text = excess > 0 ? whole.slice(end < 0 ? excess : end + 1) : whole;
  return {
    text,
    offset: piece.next_offset,
    bytes: piece.bytes,
    cut: output.cut || excess > 0,
    ended: piece.ended,
    phase: piece.phase ?? "",
  };
}
