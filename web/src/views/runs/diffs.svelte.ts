// All diffs of a run, kept up to date while they are shown.
import { get } from "../../api/client";
import type { Artifact } from "../../api/wire";
import type { RunStore } from "./store.svelte";

const PAGE = 500;
const SETTLE_MS = 300;

export class RunDiffs {
  list = $state.raw<readonly Artifact[]>([]);
  loaded = $state(false);
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** Follows the run until the returned function is called. */
  follow(store: RunStore): () => void {
    const look = (): void => void this.#load(store.id).catch(() => undefined);
    look();
    const stop = store.listen((events) => {
      if (!events.some((event) => event.type === "artifact.created" && event.artifact.kind === "diff")) return;
      clearTimeout(this.#timer);
      this.#timer = setTimeout(look, SETTLE_MS);
    });
    return () => {
      clearTimeout(this.#timer);
      stop();
    };
  }

  async #load(run: string): Promise<void> {
    const found: Artifact[] = [];
    let cursor: string | null | undefined;
    do {
      const query = { kind: "diff" as const, limit: PAGE, ...(cursor ? { cursor } : {}) };
      const answer: { artifacts: Artifact[]; page: { nextCursor: string | null } } = await get(
        "/api/runs/{run}/artifacts",
        { path: { run }, query },
      );
      found.push(...answer.artifacts);
      cursor = answer.page.nextCursor;
    } while (cursor);
    this.list = found.filter((diff) => (diff.metadata.filesChanged ?? []).length > 0);
    this.loaded = true;
  }
}
