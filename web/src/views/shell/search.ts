// Finds anything in the store while the palette is open.
import { get } from "../../api/client";
import { foundGroups, foundKey, foundNote, foundPlace, foundWhere, joinedAnswers } from "../../state/search";
import type { FoundItem } from "../../api/wire";
import type { Command } from "../../ui/commands.svelte";
import type { Findings } from "../../ui/Palette.svelte";
import { router } from "../../ui/router.svelte";

/** Results from everywhere, by kind; those in the current run come first. */
export async function search(words: string, signal: AbortSignal): Promise<Findings> {
  const [view, run] = router.place.path;
  const runId = view === "runs" ? run : undefined;
  const find = (query: { q: string; runId?: string }) => get("/api/find", { query, signal });
  const [here, all] = await Promise.all([runId ? find({ q: words, runId }) : undefined, find({ q: words })]);
  const answer = joinedAnswers(here, all);
  const sections = foundGroups(answer.hits).map(({ name, items }) => ({ name, found: items.map(command) }));
  return { sections, note: foundNote(answer) };
}

function command(hit: FoundItem): Command {
  const { path, query } = foundPlace(hit);
  // Commands of the page for runs and nodes have the same ids, and are not listed twice.
  const isCommand = hit.kind === "run" || hit.kind === "node";
  return {
    id: isCommand ? `${hit.kind}-${hit.id}` : `found ${foundKey(hit)}`,
    title: hit.title,
    group: foundWhere(hit),
    run: () => router.go(path, query),
  };
}
