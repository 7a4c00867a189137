// What happened in a workspace, asked for behind the last known position while the page is looked at.
//
//   newest operation ─ its number ─ tasks_delta(since) ─ events ─ cursor ─ tasks_delta(since) ...
//
// Other processes write to the same store, so the log is asked; an empty answer costs the server one look-up.
import { operation, type OperationResult } from "../../api/client";
import type { WorkEvent } from "../../state/work";

const ASK_MS = 1_200;
const LOST_MS = 3_000;
const EVENTS_MAX = 500;

class Changes {
  /** Whether the last question was answered. */
  live = $state(false);
  #workspace = "";
  #cursor: string | number | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #listeners = new Set<(events: readonly WorkEvent[]) => void>();
  #asking = false;

  /** Follows a workspace until the answer is called. */
  follow(workspace: string, listener: (events: readonly WorkEvent[]) => void): () => void {
    if (workspace !== this.#workspace) {
      this.#workspace = workspace;
      this.#cursor = undefined;
      this.live = false;
    }
    this.#listeners.add(listener);
    if (this.#listeners.size === 1) {
      document.addEventListener("visibilitychange", this.now);
      void this.#ask();
    }
    return () => {
      this.#listeners.delete(listener);
      if (this.#listeners.size > 0) return;
      document.removeEventListener("visibilitychange", this.now);
      clearTimeout(this.#timer);
    };
  }

  /** Asks at once, because somebody came back or just changed something. */
  readonly now = (): void => {
    clearTimeout(this.#timer);
    void this.#ask();
  };

  async #ask(): Promise<void> {
    if (this.#asking || document.hidden || this.#listeners.size === 0) return;
    this.#asking = true;
    const workspace = this.#workspace;
    let pause = ASK_MS;
    try {
      const events = await this.#news(workspace);
      const returned = !this.live;
      if (workspace === this.#workspace) {
        this.live = true;
        // Before the first answer, and in a time without any, everything may have changed.
        if (events.length > 0 || returned) for (const listener of this.#listeners) listener(events);
      }
    } catch {
      this.live = false;
      pause = LOST_MS;
    }
    this.#asking = false;
    clearTimeout(this.#timer);
    if (this.#listeners.size > 0) this.#timer = setTimeout(() => void this.#ask(), pause);
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
