// What waits for a person in all runs, kept fresh while the page is open.
import { get } from "../../api/client";
import { Stream, type StreamState } from "../../api/socket";
import type { Approval, Run, RunEvent } from "../../api/wire";
import { isRefusal, refusedCompletion, type Waiting } from "../../state/attention";

/** Events after which the list may be another one. */
const TELLING =
  "approval.*,run.patch,run.phase,run.stalled,run.deleted,node.progress,node.deleted,node.violation,run.budget,tool.completed";
/** Refusals that were seen and put away, by run. */
const DISMISSED = "muster.refusals";
const SETTLE_MS = 120;

class Inbox {
  items = $state.raw<readonly Waiting[]>([]);
  approvals = $state.raw<ReadonlyMap<string, Approval>>(new Map());
  /** Runs that something waits in, for names and questions. */
  runs = $state.raw<ReadonlyMap<string, Run>>(new Map());
  loaded = $state(false);
  stream = $state.raw<StreamState>({ kind: "connecting" });
  /** Grows with every event, for lists that want to look again. */
  beat = $state(0);
  #timer: ReturnType<typeof setTimeout> | undefined;
  #asking = false;
  #again = false;
  /** Runs whose log is to be looked at for refusals; `undefined` is all that are active. */
  #doubtful: Set<string> | undefined;
  #refused = new Map<string, Waiting>();

  /** Follows all runs until the answer is called. */
  follow(): () => void {
    const stream = new Stream(
      { types: TELLING },
      {
        events: (batch) => this.#hear(batch),
        gap: () => this.#stir(),
        state: (state) => {
          this.stream = state;
          // A socket does not say why it was refused; a plain request does, and may ask for a new sign-in.
          if (state.kind === "waiting" && state.attempt % 3 === 2) void this.refresh();
          if (state.kind !== "live") return;
          // Whatever happened meanwhile is looked up.
          this.#doubtful = undefined;
          this.#stir();
        },
      },
    );
    return () => {
      clearTimeout(this.#timer);
      stream.close();
    };
  }

  #hear(batch: readonly RunEvent[]): void {
    const telling = batch.filter((event) => event.type !== "tool.completed" || isRefusal(event));
    if (telling.length === 0) return;
    for (const event of telling) {
      if (isRefusal(event) || event.type === "run.phase" || event.type === "run.deleted")
        this.#doubtful?.add(event.runId);
    }
    this.#stir();
  }

  /** Puts a refusal away for good. */
  dismiss(item: Waiting): void {
    localStorage.setItem(DISMISSED, JSON.stringify({ ...dismissed(), [item.runId]: item.refId }));
    this.#refused.delete(item.runId);
    this.items = this.items.filter((known) => known !== item);
  }

  #stir(): void {
    this.beat += 1;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.refresh(), SETTLE_MS);
  }

  /** Looks at the logs of runs that may have refused to be called done. */
  async #readRefusals(): Promise<void> {
    let runs = [...(this.#doubtful ?? [])];
    if (!this.#doubtful) {
      const answer = await get("/api/runs", { query: { view: "summary", limit: 50 } });
      runs = answer.runs.filter((run) => run.status === "running" || run.status === "paused").map((run) => run.id);
    }
    this.#doubtful = new Set();
    const away = dismissed();
    for (const [run, item] of runs.length > 0 ? await refusals(runs) : []) {
      if (item && away[run] !== item.refId) this.#refused.set(run, item);
      else this.#refused.delete(run);
    }
  }

  /** Asks again; calls meanwhile are answered by one more. */
  async refresh(): Promise<void> {
    if (this.#asking) {
      this.#again = true;
      return;
    }
    this.#asking = true;
    try {
      const [attention, approvals] = await Promise.all([get("/api/attention"), get("/api/approvals")]);
      await this.#readRefusals();
      const items = [...attention.items, ...this.#refused.values()].sort((a, b) => a.since.localeCompare(b.since));
      this.runs = await namedRuns(items);
      this.approvals = new Map(approvals.approvals.map((row) => [row.approval.approvalId, row.approval]));
      this.items = items;
      this.loaded = true;
    } catch {
      // Out of reach: the shell says so, and the stream comes back by itself.
    }
    this.#asking = false;
    if (this.#again) {
      this.#again = false;
      await this.refresh();
    }
  }
}

function dismissed(): Record<string, string> {
  return JSON.parse(localStorage.getItem(DISMISSED) ?? "{}") as Record<string, string>;
}

/** The newest refusal of each active run that was not put away. */
async function refusals(runs: readonly string[]): Promise<Map<string, Waiting | undefined>> {
  const query = { type: "tool.completed,run.phase", limit: 500 };
  const asked = runs.map(
    async (run) =>
      [run, refusedCompletion((await get("/api/runs/{run}/events", { path: { run }, query })).events)] as const,
  );
  const answers = await Promise.allSettled(asked);
  return new Map(answers.flatMap((answer) => (answer.status === "fulfilled" ? [answer.value] : [])));
}

async function namedRuns(items: readonly Waiting[]): Promise<Map<string, Run>> {
  const ids = [...new Set(items.map((item) => item.runId))];
  const asked = ids.map((run) => get("/api/runs/{run}", { path: { run }, query: { artifacts: "none" } }));
  const answers = await Promise.allSettled(asked);
  const found = answers.flatMap((answer) => (answer.status === "fulfilled" ? [answer.value.run] : []));
  return new Map(found.map((run) => [run.id, run]));
}

export const inbox = new Inbox();
