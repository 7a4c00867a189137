// What backs a closed step: a word, something attached, checks that Muster ran, or a person's waiver.
import type { Step, Tone } from "./work";

export type Look = NonNullable<Step["look"]>;
type ClosedBy = NonNullable<Step["closed_by"]>;

/** The weakest first. */
export const LOOKS: readonly Look[] = ["claimed", "evidence", "waived", "proven"];

const WORDS: Record<Look, string> = { claimed: "Claimed", evidence: "Evidence", waived: "Waived", proven: "Proven" };
const TONES: Record<Look, Tone> = { claimed: "idle", evidence: "running", waived: "blocked", proven: "done" };
const MEANINGS: Record<Look, string> = {
  claimed: "Nothing but that word backs it.",
  evidence: "Evidence is attached; Muster did not run a check.",
  waived: "A person waived a check.",
  proven: "Muster ran its checks, and they passed.",
};

const NOTES: Record<Look, string> = {
  claimed: "claimed",
  evidence: "with evidence",
  waived: "waived",
  proven: "proven",
};

/** After a number: `2 with evidence`. */
export const lookNote = (look: Look): string => NOTES[look];
export const lookWord = (look: Look): string => WORDS[look];
export const lookTone = (look: Look): Tone => TONES[look];
export const lookMeaning = (look: Look): string => MEANINGS[look];

/** Which steps a list shows: all, the open ones, or closed ones of one look. */
export type StepFilter = "all" | "open" | Look;

/** A filter from an address; anything else shows all. */
export function stepFilter(word: string | null): StepFilter {
  if (word === "open") return word;
  return LOOKS.find((look) => look === word) ?? "all";
}

export function admits(filter: StepFilter, step: Pick<Step, "completed" | "look">): boolean {
  if (filter === "all") return true;
  return filter === "open" ? !step.completed : step.look === filter;
}

/** Filters that would show something, each with how many steps it shows. */
export function filterChoices(steps: readonly Pick<Step, "completed" | "look">[]): { filter: StepFilter; count: number }[] {
  const filters: readonly StepFilter[] = ["all", "open", ...LOOKS];
  return filters
    .map((filter) => ({ filter, count: steps.filter((step) => admits(filter, step)).length }))
    .filter(({ filter, count }) => filter === "all" || count > 0);
}

export function filterWord(filter: StepFilter): string {
  if (filter === "all") return "All";
  return filter === "open" ? "Open" : lookWord(filter);
}

/** Counts of a list's row as words, the weakest first: `2 claimed, 3 proven`. */
export function lookCounts(counts: Partial<Record<Look, number>> | undefined): { look: Look; count: number }[] {
  return LOOKS.map((look) => ({ look, count: counts?.[look] ?? 0 })).filter((row) => row.count > 0);
}

const SURFACES: Record<ClosedBy["via"], string> = {
  mcp: "over MCP",
  http: "over HTTP",
  cli: "at the command line",
  page: "on this page",
  terminal: "in the terminal",
  run: "in a run",
  hook: "in a hook",
  server: "",
};

/** Who did something, as a person reads it: `ada`, `claude-code 2.1 over MCP`, `Muster`. */
export function authorText(by: ClosedBy): string {
  if (by.kind === "server") return "Muster";
  return [by.name, by.kind === "agent" ? SURFACES[by.via] : ""].filter(Boolean).join(" ");
}
