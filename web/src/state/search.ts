// Search results: their groups, where they are, and their links.
import type { FindAnswer, FoundItem } from "../api/wire";

type Kind = FoundItem["kind"];

const GROUPS: Record<Kind, string> = {
  task: "Tasks",
  plan: "Plans",
  step: "Steps",
  run: "Runs",
  node: "Nodes",
  session: "Sessions",
  note: "Notes",
  file: "Files",
  artifact: "Artifacts",
  message: "Messages",
};

const SAID: Record<NonNullable<FoundItem["said"]>, string> = {
  message: "Message",
  answer: "Answer",
  thought: "Thought",
  handoff: "Handoff",
  artifact: "Artifact",
  file: "File",
};

/** Results of one kind. */
export interface FoundGroup {
  name: string;
  items: FoundItem[];
}

/** The results by kind; the kind of the best result comes first. */
export function foundGroups(hits: readonly FoundItem[]): FoundGroup[] {
  const groups = new Map<Kind, FoundItem[]>();
  for (const hit of hits) groups.set(hit.kind, [...(groups.get(hit.kind) ?? []), hit]);
  return [...groups].map(([kind, items]) => ({ name: GROUPS[kind], items }));
}

/** A key of a result: the same for equal results of two searches. */
export function foundKey({ kind, id, place }: FoundItem): string {
  return [kind, place.workspace, place.taskId ?? place.planId, place.runId, id].filter(Boolean).join(" ");
}

/** Where a result is, from the outside in. */
export function foundWhere({ kind, id, status, said, place, excerpt }: FoundItem): string {
  const what = said ? SAID[said] : kind === "file" ? "File" : kind === "artifact" ? "Artifact" : undefined;
  const own = ["task", "plan", "step"].includes(kind) ? id : undefined;
  const inside = [
    place.workspace,
    kind === "plan" ? undefined : place.planTitle,
    kind === "task" ? undefined : place.taskTitle,
    kind === "step" ? undefined : place.step,
    place.runName,
    place.nodeLabel,
  ];
  const path = inside.filter(Boolean).join(" › ");
  return [what, own, status?.toLowerCase(), path, excerpt].filter(Boolean).join(" · ");
}

/** The link of a result. */
export function foundPlace({ kind, id, place }: FoundItem): { path: string[]; query: Record<string, string> } {
  const run = ["runs", place.runId ?? id, ...(place.nodeId ? [place.nodeId] : [])];
  const work = ["work", place.workspace ?? "", place.taskId ?? place.planId ?? id];
  switch (kind) {
    case "plan":
    case "task":
      return { path: ["work", place.workspace ?? "", id], query: {} };
    case "step":
      return { path: work, query: { step: id } };
    case "note":
      return { path: work, query: place.step ? { step: place.step } : { tab: "reasoning" } };
    case "session":
      return { path: ["sessions", id], query: {} };
    case "run":
    case "node":
      return { path: run, query: {} };
    case "message":
      return { path: run, query: { seq: String(place.seq ?? "") } };
    case "artifact":
      return { path: run, query: { tab: "artifacts", artifact: place.artifactId ?? "" } };
    case "file":
      return { path: run, query: { tab: "diffs", artifact: place.artifactId ?? "", file: id } };
  }
}

/** What is missing in the results, in words; nothing if they are complete. */
export function foundNote({ hits, cut, unsearched }: FindAnswer): string {
  const late = unsearched > 0 ? `${unsearched.toLocaleString("en")} older events could not be searched yet.` : "";
  const kinds = cut.map((kind) => GROUPS[kind].toLowerCase()).join(", ");
  const more = kinds ? `There may be more ${kinds}: add words to narrow it.` : "";
  if (late || more) return [more, late].filter(Boolean).join(" ");
  return hits.length === 0 ? "Nothing in the store contains all these words." : "";
}

/** Joins the results in one run with those from everywhere, each once. */
export function joinedAnswers(here: FindAnswer | undefined, all: FindAnswer): FindAnswer {
  if (!here) return all;
  const known = new Set(here.hits.map(foundKey));
  const hits = [...here.hits, ...all.hits.filter((hit) => !known.has(foundKey(hit)))];
  const cut = [...new Set([...here.cut, ...all.cut])];
  return { hits, cut, unsearched: Math.max(here.unsearched, all.unsearched) };
}
