// The changes of a workspace, requested from the last known position whenever the server reports one.
//
//   newest operation ─ its number ─ change ─ tasks_delta(since) ─ events ─ cursor ─ change ─ tasks_delta(since) ...
//
// A hidden page does not listen: browsers allow few connections, and it catches up when it is shown again.
import { ChangeStream, workChanges } from "../../api/changes";
import { operation, type OperationResult } from "../../api/client";
import type { WorkEvent } from "../../state/work";

const LOST_MS = 3_000;
const EVENTS_MAX = 500;

class Changes {
  /** Whether the last request succeeded and further changes will be received. */
  live = $state(false);
  /** Whether the server was out of reach at the last attempt. */
  lost = $state(false);
  #workspace = "";
  #cursor: string | number | undefined;
  #stream: ChangeStream | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #listeners = new Set<(events: readonly WorkEvent[]) => void>();
  #watchers = new Set<() => void>();
  #asking = false;
  #again = false;

  /** Follows a workspace until the returned function is called. */
  follow(workspace: string, listener: (events: readonly WorkEvent[]) => void): () => void {
    if (workspace !== this.#workspace) {
      this.#hush();
      this.#workspace = workspace;
      this.#cursor = undefined;
    }
    this.#listeners.add(listener);
    if (this.#listeners.size === 1) document.addEventListener("visibilitychange", this.#look);
    this.#look();
    return () => {
      this.#listeners.delete(listener);
      if (this.#listeners.size > 0) return;
      document.removeEventListener("visibilitychange", this.#look);
      this.#hush();
    };
  }

  /** Reports every change of the workspace that is followed, also those that belong to no plan or task. */
  watch(listener: () => void): () => void {
    this.#watchers.add(listener);
    return () => this.#watchers.delete(listener);
  }

  /** Requests changes at once, because this page just made one. */
  readonly now = (): void => void this.#ask();

  /** Listens while the page is visible; the first message of a connection is the workspace's position. */
  readonly #look = (): void => {
    if (document.hidden) return this.#hush();
    this.#stream ??= new ChangeStream(workChanges(this.#workspace), {
      changed: () => {
        for (const watcher of this.#watchers) watcher();
        void this.#ask();
      },
      lost: () => this.#miss(),
    });
  };

  #hush(): void {
    clearTimeout(this.#timer);
    this.#stream?.close();
    this.#stream = undefined;
    this.live = false;
  }

  #miss(): void {
    this.live = false;
    this.lost = true;
  }

  async #ask(): Promise<void> {
    if (this.#listeners.size === 0) return;
    if (this.#asking) {
      this.#again = true;
      return;
    }
    this.#asking = true;
    clearTimeout(this.#timer);
    const workspace = this.#workspace;
    try {
      const events = await this.#news(workspace);
      const returned = !this.live;
      if (workspace === this.#workspace && this.#stream) {
        this.live = true;
        this.lost = false;
        // Before the first response, and after a gap, everything may have changed.
        if (events.length > 0 || returned) for (const listener of this.#listeners) listener(events);
      }
    } catch {
      this.#miss();
      this.#timer = setTimeout(this.now, LOST_MS);
    }
    this.#asking = false;
    if (!this.#again) return;
    this.#again = false;
    await this.#ask();
  }

  async #news(workspace: string): Promise<WorkEvent[]> {
    if (this.#cursor === undefined) {
      const newest = await operation("tasks_history", { workspace, limit: 1 });
      this.#cursor = newest.operations[0]?.seq ?? 0;
    }
    const events: WorkEvent[] = [];
    for (;;) {
      const answer: OperationResult<"tasks_delta"> = await operation("tasks_delta", {
        workspace,
        since: this.#cursor,
        limit: EVENTS_MAX,
      });
      if (workspace !== this.#workspace) return [];
      events.push(...answer.events);
      this.#cursor = answer.cursor ?? this.#cursor;
      if (!answer.has_more) return events;
    }
  }
}

export const changes = new Changes();
