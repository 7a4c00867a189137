// Searches plans, tasks, messages and files while the palette is open.
import { get, operation } from "../../api/client";
import type { Hit } from "../../api/wire";
import { hitKey, hitPlace, hitWords, joinedHits } from "../../state/search";
import { runName } from "../../state/run_names";
import type { Command } from "../../ui/commands.svelte";
import type { Findings } from "../../ui/Palette.svelte";
import { router } from "../../ui/router.svelte";
import { runsList } from "../runs/list.svelte";

const PAGE = 20;
const PLACES_MAX = 40;

/** Results from the current run, or from all; they grow until there are enough or everything was searched. */
export async function* search(words: string, signal: AbortSignal): AsyncGenerator<Findings> {
  const [view, run] = router.place.path;
  const runId = view === "runs" ? run : undefined;
  const work = await findWork(words, signal);
  if (work.length > 0) yield { found: work, note: "Searching messages and files …" };
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
    const found = hits.slice(0, PLACES_MAX).map((hit) => command(hit, runId ? "" : named(hit.runId, names)));
    yield { found: [...work, ...found], note: note(hits.length, looked, cursor !== undefined, runId !== undefined) };
  } while (cursor && hits.length < PLACES_MAX && !signal.aborted);
}

/** The run as lists name it, by its goal where it has no name of its own. */
function named(id: string, names: Readonly<Record<string, string>>): string {
  const run = runsList.runs.find((one) => one.id === id);
  return run ? runName(run) : (names[id] ?? "");
}

const WORK_MAX = 8;

/** Plans and tasks of the workspace that was opened last. */
async function findWork(words: string, signal: AbortSignal): Promise<Command[]> {
  const [view, named] = router.place.path;
  const workspace = (view === "work" ? named : undefined) ?? localStorage.getItem("muster.workspace");
  if (!workspace) return [];
  try {
    const { plans, tasks } = await operation("tasks_context", { workspace, query: words, limit: WORK_MAX }, signal);
    return [...tasks, ...plans].map((row) => ({
      id: `work ${workspace} ${row.id}`,
      title: row.title,
      group: `${row.id.startsWith("PLAN-") ? "plan" : "task"} · ${workspace}`,
      run: () => router.go(["work", workspace, row.id]),
    }));
  } catch {
    // The workspace may be gone; messages and files are found all the same.
    return [];
  }
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
