// Searches messages and files while the palette is open.
import { get } from "../../api/client";
import type { Hit } from "../../api/wire";
import { hitKey, hitPlace, hitWords, joinedHits } from "../../state/search";
import type { Command } from "../../ui/commands.svelte";
import type { Findings } from "../../ui/Palette.svelte";
import { router } from "../../ui/router.svelte";

const PAGE = 20;
const PLACES_MAX = 40;

/** Results from the current run, or from all; they grow until there are enough or everything was searched. */
export async function* search(words: string, signal: AbortSignal): AsyncGenerator<Findings> {
  const [view, run] = router.place.path;
  const runId = view === "runs" ? run : undefined;
  let hits: Hit[] = [];
  let names: Record<string, string> = {};
  let looked = 0;
  let cursor: string | undefined;
  do {
    const query = { q: words, limit: PAGE, ...(runId ? { runId } : {}), ...(cursor ? { cursor } : {}) };
    const answer = await get("/api/search", { query, signal });
    hits = joinedHits(hits, answer.hits);
    names = { ...names, ...answer.runs };
    looked += answer.lookedAt;
    cursor = answer.page.nextCursor ?? undefined;
    const found = hits.slice(0, PLACES_MAX).map((hit) => command(hit, runId ? "" : (names[hit.runId] ?? "")));
    yield { found, note: note(hits.length, looked, cursor !== undefined, runId !== undefined) };
  } while (cursor && hits.length < PLACES_MAX && !signal.aborted);
}

function command(hit: Hit, run: string): Command {
  const { path, query } = hitPlace(hit);
  return {
    id: `hit ${hitKey(hit)}`,
    title: hit.excerpt,
    group: hitWords(hit, run),
    run: () => router.go(path, query),
  };
}

function note(found: number, looked: number, more: boolean, one: boolean): string {
  const where = one ? "this run" : "all runs";
  const events = `${looked.toLocaleString("en")} events of ${where}`;
  if (found >= PLACES_MAX && more) return `The newest ${PLACES_MAX} places in ${events}; add words to narrow it`;
  if (more) return `${events} searched so far …`;
  return `${events} searched`;
}
