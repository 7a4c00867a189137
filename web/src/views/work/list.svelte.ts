// Plans and tasks of a workspace that match the filter.
import { operation } from "../../api/client";
import type { Look } from "../../state/looks";
import { joinedRows, type PlanRow, type Status, type TaskRow, type WorkList } from "../../state/work";

export interface Filter {
  query: string;
  status: Status | "";
  plan: string;
  tag: string;
  /** Tasks with a closed step that is backed like this. */
  look: Look | "";
}

const PAGE = 300;
const SETTLE_MS = 150;

export class TaskList {
  plans = $state.raw<readonly PlanRow[]>([]);
  tasks = $state.raw<readonly TaskRow[]>([]);
  counts = $state.raw<WorkList["by_status"]>({ TODO: 0, ACTIVE: 0, DONE: 0 });
  more = $state<string | undefined>();
  loaded = $state(false);
  refusal = $state("");
  #asked = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(
    readonly workspace: string,
    private filter: Filter,
  ) {}

  /** Changes the filter: the old rows stay until the response arrives. */
  ask(filter: Filter): void {
    this.filter = filter;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.refresh(), this.loaded ? SETTLE_MS : 0);
  }

  /** Loads as many rows again as there are. */
  async refresh(): Promise<void> {
    const asked = ++this.#asked;
    const limit = Math.min(1000, Math.max(PAGE, this.tasks.length));
    try {
      const answer = await operation("tasks_context", { ...this.#wishes(), limit });
      if (asked !== this.#asked) return;
      this.plans = answer.plans;
      this.tasks = answer.tasks;
      this.counts = answer.by_status;
      this.more = answer.tasks_pagination.next_cursor ?? undefined;
      this.refusal = "";
    } catch (error) {
      this.refusal = error instanceof Error ? error.message : String(error);
    }
    this.loaded = true;
  }

  async next(): Promise<void> {
    if (!this.more) return;
    const answer = await operation("tasks_context", {
      ...this.#wishes(),
      plans_limit: 0,
      tasks_limit: PAGE,
      tasks_cursor: this.more,
    });
    this.tasks = joinedRows(this.tasks, answer.tasks);
    this.more = answer.tasks_pagination.next_cursor ?? undefined;
  }

  #wishes(): Parameters<typeof operation<"tasks_context">>[1] {
    const { query, status, plan, tag, look } = this.filter;
    return {
      workspace: this.workspace,
      ...(query.trim() ? { query: query.trim() } : {}),
      ...(status ? { tasks_status: status } : {}),
      ...(plan ? { parent: plan } : {}),
      ...(tag ? { tags: [tag] } : {}),
      ...(look ? { look } : {}),
    };
  }
}
