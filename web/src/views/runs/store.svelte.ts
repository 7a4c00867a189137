// One run, loaded once and then updated by its events, shared by every component that shows it.
import { get, patch, post, remove } from "../../api/client";
import type { StreamState } from "../../api/retry";
import { Stream } from "../../api/socket";
import type { EdgeInput, Layout, NodeInput, NodePatch, RunEvent, RunPatch } from "../../api/wire";
import { applyRun, freshRun, type RunState } from "../../state/run";

export type EventListener = (events: readonly RunEvent[]) => void;
const SAVE_MS = 1_000;

export class RunStore {
  state = $state.raw<RunState | undefined>();
  stream = $state.raw<StreamState>({ kind: "connecting" });
  /** Why there is nothing to show. */
  fault = $state("");
  /** The last gap that a snapshot closed. */
  gap = $state<string | undefined>();
  /** Whether the dialog for a new node is open. */
  adding = $state(false);
  #stream: Stream | undefined;
  #listeners = new Set<EventListener>();
  #layout: { positions: Layout["positions"]; viewport?: Layout["viewport"] } | undefined;
  #saving: ReturnType<typeof setTimeout> | undefined;
  #closed = false;

  constructor(readonly id: string) {
    void this.#start();
  }

  async #start(): Promise<void> {
    try {
      const { run } = await get("/api/runs/{run}", { path: { run: this.id }, query: { artifacts: "none" } });
      if (this.#closed) return;
      this.state = freshRun(run);
      this.#stream = new Stream(
        { runId: this.id, since: run.lastSeq },
        {
          events: (batch) => this.#take(batch),
          gap: (from, to) => (this.gap = `${from ?? "?"} to ${to ?? "?"}`),
          state: (state) => (this.stream = state),
        },
      );
    } catch (error) {
      this.fault = error instanceof Error ? error.message : String(error);
      if (error instanceof Error && "offline" in error && error.offline && !this.#closed) {
        setTimeout(() => void this.#start(), SAVE_MS);
      }
    }
  }

  #take(batch: RunEvent[]): void {
    if (!this.state) return;
    this.fault = "";
    this.state = applyRun(this.state, batch);
    for (const listener of this.#listeners) listener(batch);
  }

  /** Calls a listener with every batch of events until the returned function is called. */
  listen(listener: EventListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  close(): void {
    this.#closed = true;
    this.#stream?.close();
    if (this.#saving !== undefined) {
      clearTimeout(this.#saving);
      void this.#save();
    }
  }

  /** Saves node positions and the viewport, at most once a second (RUNS-UI-3). */
  place(change: { positions?: Layout["positions"]; viewport?: Layout["viewport"] }): void {
    const positions = { ...this.#layout?.positions, ...change.positions };
    const viewport = change.viewport ?? this.#layout?.viewport;
    this.#layout = viewport ? { positions, viewport } : { positions };
    this.#saving ??= setTimeout(() => void this.#save(), SAVE_MS);
  }

  async #save(): Promise<void> {
    const layout = this.#layout;
    this.#saving = undefined;
    this.#layout = undefined;
    if (!layout || !this.state) return;
    const positions = { ...this.state.run.layout.positions, ...layout.positions };
    const known = this.state.run.layout;
    this.state = { ...this.state, run: { ...this.state.run, layout: { ...known, ...layout, positions } } };
    const sent = layout.viewport
      ? { positions: layout.positions, viewport: layout.viewport }
      : { positions: layout.positions };
    await this.edit({ layout: sent } as RunPatch).catch(() => undefined);
  }

  async edit(change: RunPatch, how: { interrupt?: boolean; verify?: boolean; docsSync?: boolean } = {}): Promise<void> {
    await patch("/api/runs/{run}", { path: { run: this.id }, body: { patch: change, ...how } });
  }

  async verify(): Promise<void> {
    await post("/api/runs/{run}/verify", { path: { run: this.id } });
  }

  async addNode(node: NodeInput): Promise<string> {
    return (await post("/api/runs/{run}/nodes", { path: { run: this.id }, body: { node } })).node.id;
  }

  async editNode(node: string, change: NodePatch): Promise<void> {
    await patch("/api/runs/{run}/nodes/{node}", { path: { run: this.id, node }, body: { patch: change } });
  }

  async deleteNode(node: string): Promise<void> {
    await remove("/api/runs/{run}/nodes/{node}", { path: { run: this.id, node } });
  }

  async command(node: string, word: "start" | "stop" | "interrupt"): Promise<void> {
    const paths = {
      start: "/api/runs/{run}/nodes/{node}/start",
      stop: "/api/runs/{run}/nodes/{node}/stop",
      interrupt: "/api/runs/{run}/nodes/{node}/interrupt",
    } as const;
    await post(paths[word], { path: { run: this.id, node } });
  }

  async reset(node: string): Promise<void> {
    await post("/api/runs/{run}/nodes/{node}/reset", { path: { run: this.id, node }, body: {} });
  }

  async putEdge(edge: EdgeInput): Promise<void> {
    await post("/api/runs/{run}/edges", { path: { run: this.id }, body: { edge } });
  }

  async deleteEdge(edge: string): Promise<void> {
    await remove("/api/runs/{run}/edges/{edge}", { path: { run: this.id, edge } });
  }

  async say(nodeId: string, content: string, interrupt: boolean): Promise<void> {
    await post("/api/runs/{run}/chat", { path: { run: this.id }, body: { nodeId, content, interrupt } });
  }
}
