// One plan or task with everything that its page shows; each part is loaded when it is first shown.
import { operation, Refused } from "../../api/client";
import {
  concernsTask,
  joinedEvents,
  type Checkpoint,
  type Evidence,
  type Operation,
  type Related,
  type Relations,
  type Status,
  type Step,
  type SubNode,
  type Thinking,
  type Whole,
  type WorkEvent,
} from "../../state/work";
import type { StepInput } from "../../state/draft";
import { refusalOf, type Refusal } from "./checks/refusal";
import { changes } from "./changes.svelte";
import { allEvidence, eventsBefore, moreSteps, MOST, named, operations, relations } from "./pages";

export type Part = "work" | "checks" | "timeline" | "evidence" | "reasoning" | "history";
/** Rows of the first page, and of each further one. */
const EVENTS_FIRST = 200;
const OPERATIONS_FIRST = 100;
const OPERATIONS_MORE = 500;
/** How long closing waits for checks. */
const CHECK_SECONDS = 50;

export interface Proof {
  title: string;
  command: string;
  output: string;
  exit: string;
  link: string;
  checkpoints: Checkpoint[];
}

/** The fields of a plan or task that people change one by one. */
export type Edited = Pick<
  Parameters<typeof operation<"tasks_edit">>[1] & object,
  "title" | "description" | "priority" | "tags" | "depends_on" | "new_domain" | "contract"
>;

export class TaskState {
  whole = $state.raw<Whole | undefined>();
  evidence = $state.raw<readonly Evidence[] | undefined>();
  thinking = $state.raw<Thinking | undefined>();
  history = $state.raw<readonly Operation[] | undefined>();
  historyMore = $state(false);
  /** Known events, oldest first, and whether there may be older ones. */
  events = $state.raw<readonly WorkEvent[]>([]);
  eventsMore = $state(false);
  relations = $state.raw<Relations | undefined>();
  /** The plan that it belongs to, by name. */
  plan = $state.raw<Related | undefined>();
  gone = $state("");
  /** Why the last attempt was refused, and where. */
  refusal = $state.raw<(Refusal & { path: string }) | undefined>();
  busy = $state(false);
  /** What is under way, and where. */
  #doing = $state.raw<{ path: string; words: string } | undefined>();
  #operations = OPERATIONS_FIRST;
  #shown = new Set<Part>(["work"]);

  constructor(
    readonly workspace: string,
    readonly id: string,
  ) {}

  readonly #target = (): { workspace: string; task: string } => ({ workspace: this.workspace, task: this.id });

  /** A part came into view: load it, and keep it up to date from now on. */
  async show(part: Part): Promise<void> {
    this.#shown.add(part);
    await this.#load(part);
  }

  /** Operations after those that are shown. */
  async moreHistory(): Promise<void> {
    this.#operations += OPERATIONS_MORE;
    await this.#load("history");
  }

  /** Events before those that are shown. */
  async moreEvents(): Promise<void> {
    const first = this.events[0]?.seq ?? 0;
    try {
      const older = await eventsBefore(this.#target(), first);
      this.events = joinedEvents(older, this.events, false);
      this.eventsMore = older.length > 0;
    } catch {
      // Out of reach: the button stays.
    }
  }

  /** Something changed: reload the parts that were shown. */
  async stir(events: readonly WorkEvent[]): Promise<void> {
    const plan = this.whole?.target.kind === "plan";
    const tied = [...(this.relations?.needs ?? []), ...(this.relations?.neededBy ?? [])].map((row) => row.id);
    if (plan || concernsTask(events, this.id, new Set(tied))) await this.refresh();
  }

  async refresh(): Promise<void> {
    await Promise.all([...this.#shown].map((part) => this.#load(part)));
  }

  async #load(part: Part): Promise<void> {
    try {
      switch (part) {
        case "work":
        case "checks":
        case "timeline":
          return await this.#loadWhole();
        case "evidence":
          this.evidence = await allEvidence(this.#target());
          return;
        case "reasoning":
          this.thinking = await operation("tasks_resume_super", {
            ...this.#target(),
            read_only: true,
            events_limit: 0,
            cards_limit: 200,
            notes_limit: 100,
            trace_limit: 0,
          });
          return;
        case "history": {
          const { rows, more } = await operations(this.#target(), this.#operations);
          this.history = rows;
          this.historyMore = more;
        }
      }
    } catch (error) {
      if (error instanceof Refused && !error.offline && !this.whole) this.gone = error.message;
    }
  }

  async #loadWhole(): Promise<void> {
    const wishes = { ...this.#target(), read_only: true, events_limit: EVENTS_FIRST, steps_limit: MOST };
    const whole = await operation("tasks_resume", wishes);
    whole.steps?.push(...(await moreSteps(this.#target(), whole.steps_pagination?.next_cursor)));
    this.whole = whole;
    const page = whole.timeline.events;
    const full = page.length >= EVENTS_FIRST;
    const begun = this.events.length === 0 || (full && page[0]!.seq > this.events.at(-1)!.seq);
    if (begun) this.eventsMore = full;
    this.events = joinedEvents(this.events, page, full);
    const { parent } = whole.target;
    if (parent) this.plan = await named(this.workspace, parent);
    this.relations = await relations(this.#target(), whole.target.depends_on);
  }

  /** Changes a step, or the whole task without one; an error is shown beside it. */
  async act(path: string, work: () => Promise<unknown>, words = ""): Promise<boolean> {
    this.busy = true;
    this.#doing = words ? { path, words } : undefined;
    this.refusal = undefined;
    let done = true;
    try {
      await work();
    } catch (error) {
      done = false;
      this.refusal = { path, ...refusalOf(error) };
    }
    await this.refresh();
    this.busy = false;
    this.#doing = undefined;
    changes.now();
    return done;
  }

  /** What is under way at a step, or for the whole task, in words for its button. */
  doing(path: string): string | undefined {
    return this.#doing?.path === path ? this.#doing.words : undefined;
  }

  #at(step: Step): { workspace: string; task: string; step_id: string; expected_revision: number } {
    return { ...this.#target(), step_id: step.step_id, expected_revision: this.whole?.target.revision ?? 0 };
  }

  confirm(step: Step, checkpoint: Checkpoint, confirmed: boolean): Promise<boolean> {
    return this.act(step.path, () =>
      operation("tasks_verify", { ...this.#at(step), checkpoints: { [checkpoint]: confirmed } }),
    );
  }

  /** Closes a step; its checks are run first, as far as they have no verdict on these files. */
  close(step: Step): Promise<boolean> {
    const checked = (step.checks ?? []).length > 0;
    const work = async (): Promise<unknown> => {
      const { expected_revision: _, ...place } = this.#at(step);
      if (checked) await operation("tasks_check", { ...place, wait_seconds: CHECK_SECONDS });
      return operation("tasks_done", this.#at(step));
    };
    return this.act(step.path, work, checked ? "Running its checks …" : "Closing …");
  }

  reopen(step: Step): Promise<boolean> {
    return this.act(step.path, () => operation("tasks_progress", { ...this.#at(step), completed: false }));
  }

  block(step: Step, blocked: boolean, reason: string): Promise<boolean> {
    return this.act(step.path, () =>
      operation("tasks_block", { ...this.#at(step), blocked, ...(reason ? { reason } : {}) }),
    );
  }

  /** Sub-plans belong to their step: their errors are shown there. */
  mark(step: Step, node: SubNode, status: Status): Promise<boolean> {
    return this.act(step.path, () =>
      operation("tasks_task_define", { ...this.#target(), task_node_id: node.node_id, status }),
    );
  }

  note(step: Step, note: string): Promise<boolean> {
    return this.act(step.path, () => operation("tasks_note", { ...this.#at(step), note }));
  }

  prove(step: Step, proof: Proof): Promise<boolean> {
    const { title, command, output, exit, link, checkpoints } = proof;
    const receipts = [...(command ? [`CMD: ${command}`] : []), ...(link ? [`LINK: ${link}`] : [])];
    const body = {
      kind: "command",
      ...(title ? { title } : {}),
      ...(command ? { command } : {}),
      ...(output ? { stdout: output } : {}),
      ...(exit ? { exit_code: Number(exit) } : {}),
    };
    const items = output || title ? [body] : [];
    return this.act(step.path, () =>
      operation("tasks_evidence_capture", { ...this.#at(step), items, checks: receipts, checkpoint: checkpoints }),
    );
  }

  /** Completes the plan or task; checks that have no verdict on these files are run for it. */
  complete(): Promise<boolean> {
    const revision = { expected_revision: this.whole?.target.revision ?? 0 };
    const work = () => operation("tasks_complete", { ...this.#target(), ...revision, wait_seconds: CHECK_SECONDS });
    return this.act("", work, "Completing …");
  }

  /** Changes fields of the plan or task; returns why it was refused, or nothing. */
  async edit(fields: Edited): Promise<string> {
    const revision = { expected_revision: this.whole?.target.revision ?? 0 };
    const work = () => operation("tasks_edit", { ...this.#target(), ...revision, ...fields });
    return this.#said(await this.act("edit", work));
  }

  /** Moves the task to another plan; returns why it was refused, or nothing. */
  async moveTo(plan: string): Promise<string> {
    const revision = { expected_revision: this.whole?.target.revision ?? 0 };
    return this.#said(await this.act("edit", () => operation("tasks_move", { ...this.#target(), ...revision, plan })));
  }

  /** Moves it to another status, with the same gates as for agents. */
  setStatus(status: Status): Promise<boolean> {
    if (status === "DONE") return this.complete();
    return this.act("", () => operation("tasks_complete", { ...this.#target(), status }));
  }

  /** Changes what a step says; refused if the step changed since this revision of the task. */
  async define(step: Step, since: number, fields: Partial<StepInput> & { blockers?: string[] }): Promise<string> {
    const { expected_revision: _, ...place } = this.#at(step);
    const work = () => operation("tasks_define", { ...place, expected_step_revision: since, ...fields });
    return this.#said(await this.act(`edit ${step.path}`, work));
  }

  /** Adds steps below a step, or to the task itself. */
  async addSteps(steps: readonly StepInput[], below?: Step): Promise<string> {
    const parent = below ? { parent: below.step_id } : {};
    const work = () => operation("tasks_decompose", { ...this.#target(), ...parent, steps: [...steps] });
    return this.#said(await this.act("add", work));
  }

  #said(done: boolean): string {
    return done ? "" : [this.refusal?.message, this.refusal?.hint].filter(Boolean).join(". ");
  }

  /** Deletes a step, or the whole plan or task without one. */
  remove(step?: Step): Promise<boolean> {
    const place = step ? { step_id: step.step_id } : {};
    return this.act(step?.path ?? "", () => operation("tasks_delete", { ...this.#target(), ...place }));
  }

  undo(): Promise<boolean> {
    return this.act("history", () => operation("tasks_undo", this.#target()));
  }

  redo(): Promise<boolean> {
    return this.act("history", () => operation("tasks_redo", this.#target()));
  }
}
