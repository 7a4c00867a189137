// All runs, newest change first, reloaded when something happens.
import { get, patch, remove } from "../../api/client";
import type { Run } from "../../api/wire";

class RunsList {
  runs = $state.raw<readonly Run[]>([]);
  loaded = $state(false);
  cursor = $state<string | null>(null);

  async refresh(): Promise<void> {
    try {
      const answer = await get("/api/runs", { query: { view: "summary", limit: 100 } });
      this.runs = answer.runs;
      this.cursor = answer.page.nextCursor;
      this.loaded = true;
    } catch {
      // The shell reports that the server is away; known runs stay.
    }
  }

  async more(): Promise<void> {
    if (!this.cursor) return;
    const answer = await get("/api/runs", { query: { view: "summary", limit: 100, cursor: this.cursor } });
    this.runs = [...this.runs, ...answer.runs];
    this.cursor = answer.page.nextCursor;
  }

  async rename(run: string, name: string): Promise<void> {
    await patch("/api/runs/{run}", { path: { run }, body: { patch: { name } } });
    await this.refresh();
  }

  async delete(run: string): Promise<void> {
    await remove("/api/runs/{run}", { path: { run } });
    await this.refresh();
  }
}

export const runsList = new RunsList();
