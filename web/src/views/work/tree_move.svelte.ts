// Moving a task to another plan: its line in the tree is dragged onto a line of that plan.
import { operation } from "../../api/client";
import type { TaskRow } from "../../state/work";
import { attempt } from "../../ui/notices.svelte";
import { changes } from "./changes.svelte";
import type { TreeLine } from "./TreeRow.svelte";

/** The plan that a line belongs to. */
const planOf = (line: TreeLine): string => (line.kind === "plan" ? line.id : line.task.parent);

export class TreeMove {
  #held = $state.raw<TaskRow | undefined>();
  /** The plan that the task would go to. */
  over = $state("");

  constructor(
    private readonly workspace: string,
    private readonly lines: () => readonly TreeLine[],
  ) {}

  #line({ target, currentTarget }: DragEvent): TreeLine | undefined {
    if (!(target instanceof Element) || !(currentTarget instanceof Element)) return undefined;
    const item = target.closest('[role="treeitem"]');
    return this.lines()[[...currentTarget.querySelectorAll('[role="treeitem"]')].findIndex((one) => one === item)];
  }

  readonly start = (event: DragEvent): void => {
    const line = this.#line(event);
    if (line?.kind === "task") this.#held = line.task;
  };

  readonly enter = (event: DragEvent): void => {
    const line = this.#held && this.#line(event);
    this.over = line && planOf(line) !== this.#held?.parent ? planOf(line) : "";
    if (this.over) event.preventDefault();
  };

  readonly drop = (event: DragEvent): void => {
    const task = this.#held;
    const plan = this.over;
    this.end();
    if (!task || !plan) return;
    event.preventDefault();
    void attempt(() => operation("tasks_move", { workspace: this.workspace, task: task.id, plan }), `${task.title}: moved`).then(
      changes.now,
    );
  };

  readonly end = (): void => {
    this.#held = undefined;
    this.over = "";
  };
}
