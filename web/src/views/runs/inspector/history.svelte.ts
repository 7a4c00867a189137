// The events of one node: the newest page first, older ones on request, new ones as they arrive.
import { get } from "../../../api/client";
import type { RunEvent } from "../../../api/wire";
import {
  applyTranscript,
  concerns,
  emptyTranscript,
  TRANSCRIPT_TYPES,
  type Transcript,
} from "../../../state/transcript";
import type { RunStore } from "../store.svelte";

const PAGE = 500;

export class History {
  transcript = $state.raw<Transcript>(emptyTranscript(""));
  /** Whether older events can be loaded. */
  more = $state(false);
  loaded = $state(false);
  #older: RunEvent[] = [];
  #live: RunEvent[] = [];
  #before: number | undefined;
  #asking = false;
  #stop: () => void;

  constructor(
    private readonly store: RunStore,
    readonly node: string,
  ) {
    this.transcript = emptyTranscript(node);
    // New events may arrive before the first page; their numbers put them in order.
    this.#stop = store.listen((batch) => this.#take(batch));
    void this.load();
  }

  close(): void {
    this.#stop();
  }

  #take(batch: readonly RunEvent[]): void {
    if (batch.some((event) => event.snapshot)) {
      void this.#again();
      return;
    }
    const mine = batch.filter((event) => concerns(event, this.node));
    if (mine.length === 0) return;
    this.#live.push(...mine);
    if (this.loaded) this.transcript = applyTranscript(this.transcript, mine);
  }

  /** Events were missed: load everything again. */
  async #again(): Promise<void> {
    this.#older = [];
    this.#live = [];
    this.#before = undefined;
    this.loaded = false;
    await this.load();
  }

  /** Loads the page before the oldest known event. */
  async load(): Promise<void> {
    if (this.#asking || (this.loaded && !this.more)) return;
    this.#asking = true;
    try {
      const query = {
        nodeId: this.node,
        type: TRANSCRIPT_TYPES,
        limit: PAGE,
        ...(this.#before === undefined ? {} : { before: this.#before }),
      };
      const { events, page } = await get("/api/runs/{run}/events", { path: { run: this.store.id }, query });
      this.#older = [...events, ...this.#older];
      this.#before = page.firstSeq ?? this.#before;
      this.more = page.hasMore;
      this.loaded = true;
      const newest = this.#older.at(-1)?.seq ?? 0;
      this.#live = this.#live.filter((event) => event.seq > newest);
      this.transcript = applyTranscript(emptyTranscript(this.node), [...this.#older, ...this.#live]);
    } catch {
      // Out of reach: retried when the person scrolls, or when events arrive.
    }
    this.#asking = false;
  }
}
