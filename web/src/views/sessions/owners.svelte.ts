// Which node of which run a session belongs to; most belong to one.
import { get } from "../../api/client";

export interface Owner {
  run: string;
  runName: string;
  node: string;
  nodeLabel: string;
}

class Owners {
  of = $state.raw<ReadonlyMap<string, Owner>>(new Map());
  #asked = new Set<string>();

  /** Finds out about sessions that nobody asked about before. */
  async learn(sessions: readonly string[]): Promise<void> {
    const unknown = sessions.filter((id) => !this.#asked.has(id));
    if (unknown.length === 0) return;
    for (const id of unknown) this.#asked.add(id);
    try {
      const { runs } = await get("/api/runs", { query: { limit: 100 } });
      const found = runs.flatMap((run) =>
        Object.values(run.nodes ?? {}).map((node): [string, Owner] => [
          node.musterSessionId,
          { run: run.id, runName: run.name, node: node.id, nodeLabel: node.label },
        ]),
      );
      this.of = new Map([...this.of, ...found]);
    } catch {
      for (const id of unknown) this.#asked.delete(id);
    }
  }
}

export const owners = new Owners();
