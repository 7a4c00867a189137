// One plan or task with everything that its page shows; each part is fetched when it is first looked at.
import { operation, Refused } from "../../api/client";
import type {
  Checkpoint,
  Evidence,
  Operation,
  Status,
  Step,
  SubNode,
  Thinking,
  Whole,
  WorkEvent,
} from "../../state/work";
import { helpAfter } from "../../state/work_words";
import { changes } from "./changes.svelte";

export type Part = "work" | "timeline" | "evidence" | "reasoning" | "history";
/** Rows of a first look, and the most that the server gives at once. */
const FIRST = { timeline: 200, history: 100 };
const MOST = 1000;

export interface Proof {
  title: string;
  command: string;
  output: string;
  exit: string;
  link: string;
  checkpoints: Checkpoint[];
}

export class TaskState {
  whole = $state.raw<Whole | undefined>();
  evidence = $state.raw<readonly Evidence[] | undefined>();
  thinking = $state.raw<Thinking | undefined>();
  history = $state.raw<readonly Operation[] | undefined>();
  historyMore = $state(false);
  gone = $state("");
  /** Why the last attempt was refused, and where. */
  refusal = $state.raw<{ path: string; message: string; hint: string } | undefined>();
  busy = $state(false);
  /** How many rows are asked for. */
  wanted = $state.raw(FIRST);
  #shown = new Set<Part>(["work"]);

  constructor(
    readonly workspace: string,
    readonly id: string,
  ) {}

  readonly #target = (): { workspace: string; task: string } => ({ workspace: this.workspace, task: this.id });

  /** A part came into view: it is fetched, and kept fresh from now on. */
  async show(part: Part): Promise<void> {
    this.#shown.add(part);
    await this.#load(part);
  }

  /** As many rows as there can be. */
  async more(part: keyof typeof FIRST): Promise<void> {
    this.wanted = { ...this.wanted, [part]: MOST };
    await this.#load(part);
  }

  /** Something happened: parts that were shown are fetched again. */
  async stir(events: readonly WorkEvent[]): Promise<void> {
    const plan = this.whole?.target.kind === "plan";
    const about =
      events.length === 0 ||
      plan ||
      events.some((event) => event.task_id === this.id || this.whole?.target.depends_on.includes(event.task_id));
    if (about) await this.refresh();
  }

  async refresh(): Promise<void> {
    await Promise.all([...this.#shown].map((part) => this.#load(part)));
  }

  async #load(part: Part): Promise<void> {
    try {
      switch (part) {
        case "work":
        case "timeline":
          this.whole = await operation("tasks_resume", {
            ...this.#target(),
            read_only: true,
            events_limit: this.wanted.timeline,
            steps_limit: MOST,
          });
          return;
        case "evidence":
          this.evidence = (
            await operation("tasks_evidence_get", { ...this.#target(), bodies: false, limit: MOST })
          ).evidence;
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
          const answer = await operation("tasks_history", { ...this.#target(), limit: this.wanted.history });
          this.history = answer.operations;
          this.historyMore = answer.pagination.has_more;
        }
      }
    } catch (error) {
      if (error instanceof Refused && !error.offline && !this.whole) this.gone = error.message;
    }
  }

  /** Does something to a step, or to the whole without one; a refusal stays beside it. */
  async act(path: string, work: () => Promise<unknown>): Promise<boolean> {
    this.busy = true;
    this.refusal = undefined;
    let done = true;
    try {
      await work();
    } catch (error) {
      done = false;
      const hint = error instanceof Refused ? helpAfter(error.code, error.hint) : "";
      this.refusal = { path, message: error instanceof Error ? error.message : String(error), hint };
    }
    await this.refresh();
    this.busy = false;
    changes.now();
    return done;
  }

  #at(step: Step): { workspace: string; task: string; step_id: string; expected_revision: number } {
    return { ...this.#target(), step_id: step.step_id, expected_revision: this.whole?.target.revision ?? 0 };
  }

  confirm(step: Step, checkpoint: Checkpoint, confirmed: boolean): Promise<boolean> {
    return this.act(step.path, () =>
      operation("tasks_verify", { ...this.#at(step), checkpoints: { [checkpoint]: confirmed } }),
    );
  }

  close(step: Step): Promise<boolean> {
    return this.act(step.path, () => operation("tasks_done", this.#at(step)));
  }

  reopen(step: Step): Promise<boolean> {
    return this.act(step.path, () => operation("tasks_progress", { ...this.#at(step), completed: false }));
  }

  block(step: Step, blocked: boolean, reason: string): Promise<boolean> {
    return this.act(step.path, () =>
      operation("tasks_block", { ...this.#at(step), blocked, ...(reason ? { reason } : {}) }),
    );
  }

  /** Sub-plans belong to their step: what they refuse is said there. */
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

  complete(): Promise<boolean> {
    return this.act("", () =>
      operation("tasks_complete", { ...this.#target(), expected_revision: this.whole?.target.revision ?? 0 }),
    );
  }

  undo(): Promise<boolean> {
    return this.act("history", () => operation("tasks_undo", this.#target()));
  }

  redo(): Promise<boolean> {
    return this.act("history", () => operation("tasks_redo", this.#target()));
  }
}
