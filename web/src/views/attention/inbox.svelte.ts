// What waits for a person in all runs and all work, kept up to date while the page is open.
import { ATTENTION_CHANGES, ChangeStream } from "../../api/changes";
import { get } from "../../api/client";
import type { StreamState } from "../../api/retry";
import { Stream } from "../../api/socket";
import { browserNotices } from "./browser.svelte";
import { occurrence, waitingList, type Waiting } from "../../state/waiting";
import type { Approval, Attention, Run, WorkAttention } from "../../api/wire";

/** Events after which the list may change. */
const TELLING =
  "approval.*,run.patch,run.phase,run.stalled,run.deleted,node.progress,node.deleted,node.violation,run.budget";
const SETTLE_MS = 120;
const HIDDEN = "muster.attention.hidden";

class Inbox {
  items = $state.raw<readonly Attention[]>([]);
  /** What waits in plans, tasks and projects. */
  work = $state.raw<readonly WorkAttention[]>([]);
  approvals = $state.raw<ReadonlyMap<string, Approval>>(new Map());
  /** Runs with waiting items, for names and questions; loaded while a view shows them. */
  runs = $state.raw<ReadonlyMap<string, Run>>(new Map());
  /** What the person put away in this browser, until it happens again. */
  hidden = $state.raw<ReadonlySet<string>>(new Set(JSON.parse(localStorage.getItem(HIDDEN) ?? "[]") as string[]));
  all = $derived(waitingList(this.items, this.work));
  list = $derived(this.all.filter((one) => !this.hidden.has(occurrence(one))));
  count = $derived(this.list.length);
  loaded = $state(false);
  stream = $state.raw<StreamState>({ kind: "connecting" });
  /** Incremented with every event, for lists that reload then. */
  beat = $state(0);
  #timer: ReturnType<typeof setTimeout> | undefined;
  #changes: ChangeStream | undefined;
  #asking = false;
  #again = false;
  #shown = 0;

  /** Follows all runs until the returned function is called. */
  follow(): () => void {
    const stream = new Stream(
      { types: TELLING },
      {
        events: () => this.#stir(),
        gap: () => this.#stir(),
        state: (state) => {
          this.stream = state;
          // A socket does not say why it was refused; a plain request does, and may ask for a new sign-in.
          if (state.kind === "waiting" && state.attempt % 3 === 2) void this.refresh();
          // Load whatever happened in the meantime.
          if (state.kind === "live") this.#stir();
        },
      },
    );
    document.addEventListener("visibilitychange", this.#listen);
    this.#listen();
    return () => {
      clearTimeout(this.#timer);
      stream.close();
      document.removeEventListener("visibilitychange", this.#listen);
      this.#hush();
    };
  }

  /**
   * Follows what waits in the work while the page is visible or notifies: browsers allow few connections.
   */
  readonly #listen = (): void => {
    if (document.hidden && !browserNotices.isOn) return this.#hush();
    const stir = (): void => this.#stir();
    this.#changes ??= new ChangeStream(ATTENTION_CHANGES, { changed: stir, lost: () => undefined });
  };

  #hush(): void {
    this.#changes?.close();
    this.#changes = undefined;
  }

  /** Loads the runs of waiting items, too, until the returned function is called. */
  show(): () => void {
    this.#shown += 1;
    void this.refresh();
    return () => (this.#shown -= 1);
  }

  hide(one: Waiting): void {
    // Only what still waits is worth remembering.
    const known = this.all.map(occurrence).filter((key) => this.hidden.has(key));
    this.#keepHidden([...known, occurrence(one)]);
  }

  showHidden(): void {
    this.#keepHidden([]);
  }

  #keepHidden(keys: readonly string[]): void {
    this.hidden = new Set(keys);
    localStorage.setItem(HIDDEN, JSON.stringify(keys));
  }

  #stir(): void {
    this.beat += 1;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.refresh(), SETTLE_MS);
  }

  /** Reloads; calls during a reload share one more. */
  async refresh(): Promise<void> {
    if (this.#asking) {
      this.#again = true;
      return;
    }
    this.#asking = true;
    try {
      const [attention, approvals] = await Promise.all([get("/api/attention"), get("/api/approvals")]);
      // Elsewhere only the number of items is shown, and a run that is open is loaded by its view.
      if (this.#shown > 0) this.runs = await namedRuns(attention.items);
      this.approvals = new Map(approvals.approvals.map((row) => [row.approval.approvalId, row.approval]));
      this.items = attention.items;
      this.work = attention.work;
      this.loaded = true;
      browserNotices.look(this.all);
    } catch {
      // Out of reach: the shell reports it, and the stream reconnects automatically.
    }
    this.#asking = false;
    if (this.#again) {
      this.#again = false;
      await this.refresh();
    }
  }
}

async function namedRuns(items: readonly Attention[]): Promise<Map<string, Run>> {
  const ids = [...new Set(items.map((item) => item.runId))];
  const asked = ids.map((run) => get("/api/runs/{run}", { path: { run }, query: { artifacts: "none" } }));
  const answers = await Promise.allSettled(asked);
  const found = answers.flatMap((answer) => (answer.status === "fulfilled" ? [answer.value.run] : []));
  return new Map(found.map((run) => [run.id, run]));
}

export const inbox = new Inbox();
