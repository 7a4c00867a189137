// Projects for display: what was accepted, what the file says, and how they differ.
import type { Project, ProjectDefinition } from "../api/wire";
import type { Tone } from "./work";

export type ProjectState = Project["state"];
export type DefinitionChange = Project["changes"][number];

const WORDS: Record<ProjectState, string> = {
  accepted: "Accepted",
  changed: "Changed",
  declined: "Change declined",
  new: "Not accepted",
  missing: "No file",
  broken: "Broken file",
};
const TONES: Record<ProjectState, Tone> = {
  accepted: "done",
  changed: "blocked",
  declined: "idle",
  new: "blocked",
  missing: "idle",
  broken: "failed",
};
const MEANINGS: Record<ProjectState, string> = {
  accepted: "The file says what was accepted.",
  changed: "The file differs from what was accepted. The accepted definitions stay in force until you decide.",
  declined: "The file differs from what was accepted. The accepted definitions were kept.",
  new: "Nobody has accepted these definitions. Nothing runs before that.",
  missing: "There is no muster.toml any more. The accepted definitions stay in force.",
  broken: "The file cannot be read. The accepted definitions stay in force.",
};

export const projectWord = (state: ProjectState): string => WORDS[state];
export const projectTone = (state: ProjectState): Tone => TONES[state];

export function projectMeaning(project: Pick<Project, "state" | "accepted">): string {
  if (project.accepted) return MEANINGS[project.state];
  if (project.state === "missing") return "There is no muster.toml here. Write one with muster init.";
  if (project.state === "broken") return "The file cannot be read. Nothing runs before it is mended and accepted.";
  if (project.state === "declined") return "These definitions were declined. Nothing runs.";
  return MEANINGS[project.state];
}

/** Whether a person has something to decide; a declined file can still be accepted. */
export function decisions(project: Pick<Project, "state" | "found">): ("accept" | "keep")[] {
  if (!project.found) return [];
  if (project.state === "changed" || project.state === "new") return ["accept", "keep"];
  return project.state === "declined" ? ["accept"] : [];
}

/** The place of a change in words: `checks.tests` is `Check tests`. */
export function changeTitle(what: string): string {
  if (what.startsWith("checks.")) return `Check ${what.slice("checks.".length)}`;
  if (what === "protect") return "Protected files";
  return what.charAt(0).toUpperCase() + what.slice(1);
}

/** A check of a definition, for a table. */
export interface DefinitionRow {
  name: string;
  command: string;
  /** What is not the default, or matters to the one who accepts it. */
  facts: string[];
}

export function definitionRows(definition: ProjectDefinition): DefinitionRow[] {
  return Object.entries(definition.checks).map(([name, check]) => ({
    name,
    command: typeof check.run === "string" ? check.run : check.run.join(" "),
    facts: [
      ...(check.required ? ["required of every task"] : []),
      `proves ${check.proves.join(", ")}`,
      `at most ${seconds(check.timeout_seconds)}`,
      ...(check.clean ? ["in a clean checkout"] : []),
      ...(check.paths.length > 0 ? [`depends on ${check.paths.join(" ")}`] : []),
      ...(check.report ? [`report ${check.report}`] : []),
      ...Object.entries(check.env).map(([variable, value]) => `${variable}=${value}`),
      ...(check.guard_count ? [] : ["may lose tests without a finding"]),
    ],
  }));
}

/** `90 s`, `10 min`, `2 h`. */
function seconds(count: number): string {
  if (count % 3600 === 0) return `${count / 3600} h`;
  return count % 60 === 0 ? `${count / 60} min` : `${count} s`;
}

/** The last folder of a path, for a heading. */
export function folderName(root: string): string {
  return root.split("/").filter(Boolean).at(-1) ?? root;
}

/** Projects that wait for a person first, then by their root. */
export function byNeed(projects: readonly Project[]): Project[] {
  const waits = (project: Project): number => (["changed", "new", "broken"].includes(project.state) ? 0 : 1);
  return [...projects].sort((a, b) => waits(a) - waits(b) || (a.root < b.root ? -1 : 1));
}
