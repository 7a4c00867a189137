// A run that a person is typing. It outlives its dialog, so that nothing typed is lost by closing it.
import { get, operation, patch, post, remove } from "../../../api/client";
import type { Provider } from "../../../api/wire";
import { newRun, runForTask, runInput, runProblems, type RunDraft } from "../../../state/new_run";
import { preset } from "./presets";

/** The task that a run shall work on. */
export interface RunFor {
  workspace: string;
  id: string;
}

const said = (error: unknown): string => (error instanceof Error ? error.message : String(error));

export class NewRun {
  draft = $state<RunDraft>(newRun());
  faults = $state.raw<Readonly<Record<string, string>>>({});
  busy = $state(false);
  #filled = false;
  /** A run that could not be completed and is still to be deleted. */
  #half = "";

  constructor(readonly task: RunFor | undefined) {}

  /** Starts over: with what the task says, if there is one. */
  async clear(providers: readonly Provider[]): Promise<void> {
    Object.assign(this, { draft: newRun(), faults: {} });
    this.#filled = false;
    this.staff(providers);
    await this.fill();
  }

  /** One agent, unless the person has chosen some already. */
  staff(providers: readonly Provider[]): void {
    if (this.draft.nodes.length === 0) this.draft.nodes = preset("solo", providers);
  }

  /** Fills in what the task says, once. */
  async fill(): Promise<void> {
    if (!this.task || this.#filled) return;
    const { workspace, id } = this.task;
    try {
      const wishes = { workspace, task: id, read_only: true, events_limit: 0, steps_limit: 1000 };
      const [whole, { projects }] = await Promise.all([operation("tasks_resume", wishes), get("/api/projects")]);
      Object.assign(this.draft, runForTask(workspace, whole, projects));
      this.#filled = true;
    } catch (error) {
      this.faults = { whole: `The task could not be read: ${said(error)}` };
    }
  }

  /** Creates and starts it; returns its id, or undefined if something is wrong, which is then shown. */
  async create(providers: readonly Provider[]): Promise<string | undefined> {
    this.faults = runProblems(this.draft, providers);
    if (Object.keys(this.faults).length > 0 || this.busy) return undefined;
    this.busy = true;
    try {
      await this.#discard();
      const id = await this.#create();
      this.draft = newRun();
      this.#filled = false;
      return id;
    } catch (error) {
      await this.#discard().catch(() => undefined);
      this.faults = { whole: said(error) };
      return undefined;
    } finally {
      this.busy = false;
    }
  }

  /** All or nothing: no agent works before the edges are there. */
  async #create(): Promise<string> {
    const { run } = await post("/api/runs", { body: { run: { ...runInput(this.draft), autoStart: false } } });
    this.#half = run.id;
    const path = { run: run.id };
    const lead = Object.values(run.nodes).find((node) => node.orchestrator);
    for (const node of Object.values(run.nodes).filter((one) => lead && one !== lead)) {
      await post("/api/runs/{run}/edges", { path, body: { edge: { from: lead!.id, to: node.id } } });
    }
    await patch("/api/runs/{run}", { path, body: { patch: { status: "running" } } });
    this.#half = "";
    return run.id;
  }

  async #discard(): Promise<void> {
    if (!this.#half) return;
    await remove("/api/runs/{run}", { path: { run: this.#half } });
    this.#half = "";
  }
}

const kept = new Map<string, NewRun>();

/** The draft of a run, or of a run for this task, as it was left. */
export function draftOf(task: RunFor | undefined): NewRun {
  const key = task ? `${task.workspace} ${task.id}` : "";
  const draft = kept.get(key) ?? new NewRun(task);
  kept.set(key, draft);
  return draft;
}
