// How runs are called where people read.
import type { Run } from "../api/wire";

const WORDS_MAX = 8;
const LETTERS_MAX = 60;

/** A name that the server made of the id, because nobody gave one. */
const MADE = /^run [0-9a-f]{8}$/i;

/** The run's name, or the first words of its goal. */
export function runName(run: Pick<Run, "name" | "goal">): string {
  const goal = run.goal?.trim() ?? "";
  return goal && (!run.name.trim() || MADE.test(run.name.trim())) ? firstWords(goal) : run.name;
}

/** The first words of a text, on one line. */
export function firstWords(text: string): string {
  const words = text.split(/\s+/).filter(Boolean);
  const start = words.slice(0, WORDS_MAX).join(" ").slice(0, LETTERS_MAX).trimEnd();
  return start.length < words.join(" ").length ? `${start} …` : start;
}

/** The end of a path: `/home/ada/src/harbour` is `src/harbour`. */
export function folderName(path: string): string {
  return path.split("/").filter(Boolean).slice(-2).join("/") || path;
}
