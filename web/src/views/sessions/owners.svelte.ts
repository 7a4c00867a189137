// The run and node that own a session; most sessions have an owner and name it.
import { get } from "../../api/client";
import type { Session } from "../../api/wire";

export interface Owner {
  run: string;
  runName: string;
  node: string;
}

const RUNS_AT_ONCE = 500;

class Owners {
  of = $state.raw<ReadonlyMap<string, Owner>>(new Map());
  #names = new Map<string, string>();
  #known = new Set<string>();

  /** Looks up the owners of sessions that are not known yet; a deleted run owns nothing. */
  async learn(sessions: readonly Session[]): Promise<void> {
    const fresh = sessions.filter((session) => !this.#known.has(session.session_id));
    const owned = fresh.flatMap((session) => {
      const { run_id, node_id } = session.metadata ?? {};
      const named = typeof run_id === "string" && typeof node_id === "string";
      return named ? [{ session: session.session_id, run: run_id, node: node_id }] : [];
    });
    try {
      await this.#name(new Set(owned.map((one) => one.run)));
    } catch {
      return;
    }
    for (const session of fresh) this.#known.add(session.session_id);
    const found = owned.flatMap(({ session, run, node }): [string, Owner][] => {
      const runName = this.#names.get(run);
      return runName === undefined ? [] : [[session, { run, runName, node }]];
    });
    if (found.length > 0) this.of = new Map([...this.of, ...found]);
  }

  /** Reads names of runs from the list, until all are found or the list ends. */
  async #name(runs: ReadonlySet<string>): Promise<void> {
    const wanted = new Set([...runs].filter((run) => !this.#names.has(run)));
    let cursor: string | undefined;
    while (wanted.size > 0) {
      const query = { view: "summary" as const, limit: RUNS_AT_ONCE, ...(cursor ? { cursor } : {}) };
      const answer = await get("/api/runs", { query });
      for (const run of answer.runs) {
        this.#names.set(run.id, run.name);
        wanted.delete(run.id);
      }
      cursor = answer.page.nextCursor ?? undefined;
      if (!cursor) return;
    }
  }
}

export const owners = new Owners();
