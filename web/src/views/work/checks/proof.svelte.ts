// What is proven of one task, kept up to date while it is shown: its checks, their last runs, the output of those
// that run now, and what a person does about them.
import { SvelteMap } from "svelte/reactivity";
import { get, operation, post, Refused } from "../../../api/client";
import type { CheckRun } from "../../../api/wire";
import { checkRows, continued, NO_OUTPUT, type Output, type TaskProof } from "../../../state/proof";
import { changes } from "../changes.svelte";
import { refusalOf, type Refusal } from "./refusal";
import { ReviewState } from "./review.svelte";

const SETTLE_MS = 250;
const OUTPUT_MS = 700;
/** Files change without a notice, so the page looks at them again now and then. */
const LOOK_MS = 20_000;

/** A waiver as a person gives it. */
export interface Waiving {
  check: string;
  step: string | undefined;
  reason: string;
  forGood: boolean;
}

export class ProofState {
  proof = $state.raw<TaskProof | undefined>();
  /** Protected files that wait for a person. */
  readonly review: ReviewState;
  /** Why the proof could not be read. */
  refusal = $state.raw<Refusal | undefined>();
  /** The last runs of each check, newest first. */
  readonly runs = new SvelteMap<string, readonly CheckRun[]>();
  /** The output of runs that are followed, by run. */
  readonly outputs = new SvelteMap<string, Output>();
  /** What is under way, by its key, in words for its button. */
  readonly busy = new SvelteMap<string, string>();
  /** Errors of the last attempt, by the same keys. */
  readonly refusals = new SvelteMap<string, Refusal>();
  #shown = 0;
  #settle: ReturnType<typeof setTimeout> | undefined;
  #look: ReturnType<typeof setTimeout> | undefined;
  #poll: ReturnType<typeof setTimeout> | undefined;
  #asking = false;
  #again = false;

  constructor(
    readonly workspace: string,
    readonly task: string,
  ) {
    this.review = new ReviewState(workspace);
  }

  /** Keeps the proof up to date until the returned function is called. */
  show(): () => void {
    this.#shown += 1;
    const stir = (): void => {
      clearTimeout(this.#settle);
      this.#settle = setTimeout(() => void this.refresh(), SETTLE_MS);
    };
    const unwatch = changes.watch(stir);
    document.addEventListener("visibilitychange", stir);
    void this.refresh();
    return () => {
      this.#shown -= 1;
      unwatch();
      document.removeEventListener("visibilitychange", stir);
      if (this.#shown > 0) return;
      for (const timer of [this.#settle, this.#look, this.#poll]) clearTimeout(timer);
      this.#poll = undefined;
    };
  }

  /** Reads the proof again; calls during a request share one more. */
  async refresh(): Promise<void> {
    if (document.hidden) return;
    if (this.#asking) {
      this.#again = true;
      return;
    }
    this.#asking = true;
    try {
      this.proof = await operation("tasks_proof", { workspace: this.workspace, task: this.task });
      this.refusal = undefined;
      await this.review.load(this.proof.protected?.state === "review");
      await this.#loadRuns(checkRows(this.proof).map((row) => row.name));
    } catch (error) {
      if (!(error instanceof Refused && error.offline)) this.refusal = refusalOf(error);
    }
    this.#asking = false;
    if (this.#again) {
      this.#again = false;
      return this.refresh();
    }
    clearTimeout(this.#look);
    if (this.#shown > 0) this.#look = setTimeout(() => void this.refresh(), LOOK_MS);
  }

  async #loadRuns(checks: readonly string[]): Promise<void> {
    const { workspace } = this;
    const lists = await Promise.all(checks.map((check) => get("/api/work/checks", { query: { workspace, check } })));
    checks.forEach((check, at) => this.runs.set(check, lists[at]?.runs ?? []));
    for (const run of this.running()) if (!this.outputs.has(run.id)) this.outputs.set(run.id, NO_OUTPUT);
    if (this.running().length > 0 && !this.#poll) this.#follow();
  }

  /** The unfinished runs of the task's checks. */
  running(check?: string): CheckRun[] {
    const lists = check === undefined ? [...this.runs.values()] : [this.runs.get(check) ?? []];
    return lists.flat().filter((run) => run.verdict === undefined);
  }

  #follow(): void {
    this.#poll = setTimeout(() => void this.#readOutputs(), OUTPUT_MS);
  }

  async #readOutputs(): Promise<void> {
    const open = [...this.outputs].filter(([, output]) => !output.ended);
    await Promise.all(open.map(([run]) => this.readOutput(run)));
    this.#poll = undefined;
    const left = open.some(([run]) => !this.outputs.get(run)?.ended);
    if (left && this.#shown > 0) this.#follow();
    else if (open.length > 0) void this.refresh();
  }

  /** Reads on in the output of a run. */
  async readOutput(run: string): Promise<void> {
    const known = this.outputs.get(run) ?? NO_OUTPUT;
    try {
      const query = { workspace: this.workspace, offset: known.offset };
      const piece = await get("/api/work/checks/{run}/output", { path: { run }, query });
      this.outputs.set(run, continued(this.outputs.get(run) ?? known, piece));
    } catch (error) {
      // Out of reach: it is tried again. Anything else will not get better.
      if (!(error instanceof Refused && error.offline)) this.outputs.set(run, { ...known, ended: true });
    }
  }

  /** Does something that a button shows by its key, keeps its error, and looks at the result. */
  async act(key: string, doing: string, work: () => Promise<unknown>): Promise<boolean> {
    if (this.busy.has(key)) return false;
    this.busy.set(key, doing);
    this.refusals.delete(key);
    let done = true;
    try {
      await work();
    } catch (error) {
      done = false;
      this.refusals.set(key, refusalOf(error));
    }
    await this.refresh();
    this.busy.delete(key);
    changes.now();
    return done;
  }

  /** Starts checks; what passed on these files is not run again unless it should be. */
  run(key: string, checks: string[], fresh: boolean): Promise<boolean> {
    const target = { workspace: this.workspace, task: this.task };
    return this.act(key, "Starting …", () =>
      operation("tasks_check", { ...target, checks, wait_seconds: 0, ...(fresh ? { fresh } : {}) }),
    );
  }

  cancel(run: string): Promise<boolean> {
    const body = { workspace: this.workspace };
    return this.act(`cancel ${run}`, "Cancelling …", () =>
      post("/api/work/checks/{run}/cancel", { path: { run }, body }),
    );
  }

  waive({ check, step, reason, forGood }: Waiving): Promise<boolean> {
    const about = { workspace: this.workspace, task: this.task, check, ...(step ? { step } : {}) };
    return this.act("waive", "Waiving …", () =>
      post("/api/work/waivers", { body: { ...about, reason, ...(forGood ? { for_good: true } : {}) } }),
    );
  }

  /** Takes a waiver back, or declines one that an agent asks for. */
  takeBack(key: string, doing: string, check: string, step: string | undefined): Promise<boolean> {
    const about = { workspace: this.workspace, task: this.task, check, ...(step ? { step } : {}) };
    return this.act(key, doing, () => post("/api/work/waivers", { body: { ...about, take_back: true } }));
  }
}
