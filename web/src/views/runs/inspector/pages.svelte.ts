// The artifacts of a run, page by page, newest first; an artifact that a link names is included whatever its age.
import { get } from "../../../api/client";
import type { Artifact } from "../../../api/wire";

const PAGE = 200;

export interface ArtifactWishes {
  nodeId?: string;
  kind?: Artifact["kind"];
}

export class ArtifactPages {
  list = $state.raw<readonly Artifact[]>([]);
  more = $state<string | undefined>();
  loaded = $state(false);
  #asked = 0;

  constructor(private readonly run: string) {}

  /** Loads the newest page; pages already loaded stay. */
  async look(wishes: ArtifactWishes, wanted?: string | null): Promise<void> {
    const asked = ++this.#asked;
    const answer = await this.#page(wishes);
    if (asked !== this.#asked) return;
    const oldest = answer.artifacts.at(-1)?.number ?? 0;
    const fits = (one: Artifact): boolean =>
      (!wishes.nodeId || one.nodeId === wishes.nodeId) && (!wishes.kind || one.kind === wishes.kind);
    const older = answer.page.hasMore ? this.list.filter((known) => known.number < oldest && fits(known)) : [];
    if (older.length === 0) this.more = answer.page.nextCursor ?? undefined;
    this.list = [...answer.artifacts, ...older];
    if (wanted && !this.list.some((known) => known.id === wanted)) await this.#single(wanted);
    this.loaded = true;
  }

  /** Loads the next page. */
  async next(wishes: ArtifactWishes): Promise<void> {
    if (!this.more) return;
    const answer = await this.#page(wishes, this.more);
    const known = new Set(answer.artifacts.map((artifact) => artifact.id));
    this.list = [...this.list.filter((artifact) => !known.has(artifact.id)), ...answer.artifacts].sort(
      (a, b) => b.number - a.number,
    );
    this.more = answer.page.nextCursor ?? undefined;
  }

  async #single(artifact: string): Promise<void> {
    const path = { run: this.run, artifact };
    const piece = await get("/api/runs/{run}/artifacts/{artifact}", { path, query: { maxBytes: 1 } });
    this.list = [...this.list, piece.artifact].sort((a, b) => b.number - a.number);
  }

  #page(wishes: ArtifactWishes, cursor?: string) {
    const query = { ...wishes, limit: PAGE, ...(cursor ? { cursor } : {}) };
    return get("/api/runs/{run}/artifacts", { path: { run: this.run }, query });
  }
}
