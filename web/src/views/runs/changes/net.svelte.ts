// All files of a run against its start, kept up to date while they are shown; and what a person does with them.
import { get, open, post } from "../../../api/client";
import type { ChangedDirectory } from "../../../api/wire";
import { parseDiff, type DiffFile } from "../../../state/diff";
import type { RunStore } from "../store.svelte";

const SETTLE_MS = 400;

export class NetState {
  list = $state.raw<readonly ChangedDirectory[]>([]);
  loaded = $state(false);
  /** Incremented when the files may have changed again. */
  beat = $state(0);
  fault = $state("");
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(readonly run: string) {}

  /** Follows the run until the returned function is called. */
  follow(store: RunStore): () => void {
    void this.refresh();
    const stop = store.listen((events) => {
      if (!events.some((event) => event.type === "artifact.created" || event.type === "turn.status")) return;
      clearTimeout(this.#timer);
      this.#timer = setTimeout(() => void this.refresh(), SETTLE_MS);
    });
    return () => {
      clearTimeout(this.#timer);
      stop();
    };
  }

  async refresh(): Promise<void> {
    try {
      const { changes } = await get("/api/runs/{run}/changes", { path: { run: this.run } });
      this.list = changes.directories;
      this.fault = "";
    } catch (error) {
      this.fault = error instanceof Error ? error.message : String(error);
    }
    this.loaded = true;
    this.beat += 1;
  }

  /** The address of a patch: of one file, or of everything in a directory. */
  patchAddress(directory: ChangedDirectory, path?: string): string {
    const query = new URLSearchParams();
    if (directory.nodeId) query.set("nodeId", directory.nodeId);
    if (path) query.set("path", path);
    return `/api/runs/${encodeURIComponent(this.run)}/changes/patch?${query.toString()}`;
  }

  /** The lines of one file that differ from the start. */
  async diff(directory: ChangedDirectory, path: string, signal: AbortSignal): Promise<DiffFile | undefined> {
    const text = await (await open(this.patchAddress(directory, path), signal)).text();
    return parseDiff(text).find((file) => file.path === path) ?? parseDiff(text)[0];
  }

  /** Makes a branch of a directory's changes; nothing is checked out. Returns its commit. */
  async branch({ nodeId }: ChangedDirectory, name: string): Promise<string> {
    const body = { name, ...(nodeId ? { nodeId } : {}) };
    return (await post("/api/runs/{run}/changes/branch", { path: { run: this.run }, body })).commit;
  }

  /** Puts files back to what they were before the run; all of the directory without paths. */
  async revert({ nodeId }: ChangedDirectory, paths: readonly string[]): Promise<void> {
    const body = { paths: [...paths], ...(nodeId ? { nodeId } : {}) };
    await post("/api/runs/{run}/changes/revert", { path: { run: this.run }, body });
    await this.refresh();
  }
}
