// Search results: their labels and links.
import type { Hit } from "../api/wire";

const WORDS: Record<Hit["kind"], string> = {
  message: "Message",
  answer: "Answer",
  thought: "Thought",
  handoff: "Handoff",
  artifact: "Artifact",
  file: "File",
};

/** The title of a result, with its run where that is not clear. */
export function hitWords(hit: Hit, run: string): string {
  const further = hit.further ? `${hit.further} more files in the diff` : "";
  return [WORDS[hit.kind], run, further].filter(Boolean).join(" · ");
}

/** A key of a result. */
export function hitKey(hit: Hit): string {
  return `${hit.runId} ${hit.seq} ${hit.kind} ${hit.kind === "file" ? hit.excerpt : ""}`;
}

/** The link of a result: the event in the conversation, the file in its diff, or the artifact. */
export function hitPlace(hit: Hit): { path: string[]; query: Record<string, string> } {
  const path = ["runs", hit.runId, ...(hit.nodeId ? [hit.nodeId] : [])];
  switch (hit.kind) {
    case "message":
    case "answer":
    case "thought":
    case "handoff":
      return { path, query: { seq: String(hit.seq) } };
    case "artifact":
      return { path, query: { tab: "artifacts", artifact: hit.artifactId ?? "" } };
    case "file":
      return { path, query: { tab: "diffs", artifact: hit.artifactId ?? "", file: hit.excerpt } };
  }
}

/** Joins pages of results; a file that many turns changed is listed once, with its newest change. */
export function joinedHits(before: readonly Hit[], next: readonly Hit[]): Hit[] {
  const name = (hit: Hit): string => (hit.kind === "file" ? `${hit.runId} ${hit.excerpt}` : hitKey(hit));
  const known = new Map(before.map((hit) => [name(hit), hit]));
  for (const hit of next) if (!known.has(name(hit))) known.set(name(hit), hit);
  return [...known.values()];
}
