// A plan or task that a person is typing. It outlives its dialog, so that nothing typed is lost by closing it.
import { operation } from "../../../api/client";
import {
  emptyStep,
  linesOf,
  problems,
  refusedField,
  stepInput,
  tagsOf,
  templateSteps,
  type DraftWork,
  type WorkTemplate,
} from "../../../state/draft";
import { refusalOf, type Refusal } from "../checks/refusal";

export type Kind = "plan" | "task";
/** The choice of a plan that is created together with the task. */
export const NEW_PLAN = "";

const empty = (): DraftWork => ({
  title: "",
  description: "",
  priority: "MEDIUM",
  tags: "",
  steps: [emptyStep()],
});

export class NewWork {
  work = $state<DraftWork>(empty());
  plan = $state(NEW_PLAN);
  planTitle = $state("");
  /** A plan's promise and its points, one per line. */
  contract = $state("");
  points = $state("");
  busy = $state(false);
  faults = $state.raw<Readonly<Record<string, string>>>({});
  refusal = $state.raw<Refusal | undefined>();
  /** What an attempt that failed half-way has created already, so that the next one continues. */
  #made: { plan?: string; id?: string } = {};

  constructor(
    readonly workspace: string,
    readonly kind: Kind,
  ) {}

  clear(): void {
    Object.assign(this, { work: empty(), planTitle: "", contract: "", points: "", faults: {}, refusal: undefined });
    this.#made = {};
  }

  use(template: WorkTemplate): void {
    if (this.kind === "plan") this.points = (template.plan_steps ?? []).join("\n");
    else this.work.steps = templateSteps(template);
  }

  /** Creates it; returns its id, or undefined if something is wrong, which is then shown. */
  async create(): Promise<string | undefined> {
    const steps = this.kind === "task" ? this.work.steps.filter((step) => !isBlank(step)) : [];
    this.work.steps = this.kind === "task" && steps.length === 0 ? [emptyStep()] : steps;
    const faults = problems(this.work, steps);
    if (this.kind === "task" && this.plan === NEW_PLAN && !this.planTitle.trim()) {
      faults["plan"] = "Enter the title of the new plan, or choose a plan.";
    }
    this.faults = faults;
    this.refusal = undefined;
    if (Object.keys(faults).length > 0) return undefined;
    this.busy = true;
    try {
      const id = this.kind === "plan" ? await this.#createPlan() : await this.#createTask();
      this.clear();
      return id;
    } catch (error) {
      this.#refused(refusalOf(error));
      return undefined;
    } finally {
      this.busy = false;
    }
  }

  #refused(refusal: Refusal): void {
    const field = refusedField(refusal.argument);
    if (field) this.faults = { [field]: refusal.message };
    else this.refusal = refusal;
  }

  async #createPlan(): Promise<string> {
    const { workspace } = this;
    const contract = this.contract.trim();
    this.#made.id ??= await this.#post({ kind: "plan", ...(contract ? { contract } : {}) });
    const plan = this.#made.id;
    const points = linesOf(this.points);
    if (points.length > 0) await operation("tasks_plan", { workspace, plan, steps: points });
    await this.#mark({ plan });
    return plan;
  }

  async #createTask(): Promise<string> {
    if (this.plan === NEW_PLAN) {
      const asked = { workspace: this.workspace, kind: "plan" as const, title: this.planTitle.trim() };
      this.#made.plan ??= (await operation("tasks_create", asked)).id;
    }
    const parent = this.plan || this.#made.plan || "";
    const steps = this.work.steps.filter((step) => !isBlank(step)).map(stepInput);
    this.#made.id ??= await this.#post({ kind: "task", parent, steps });
    await this.#mark({ task: this.#made.id });
    return this.#made.id;
  }

  async #post(part: Partial<Parameters<typeof operation<"tasks_create">>[1]>): Promise<string> {
    const description = this.work.description.trim();
    const title = this.work.title.trim();
    const asked = { workspace: this.workspace, title, ...(description ? { description } : {}), ...part };
    return (await operation("tasks_create", asked)).id;
  }

  /** Sets what creating does not take. */
  async #mark(target: { plan: string } | { task: string }): Promise<void> {
    const tags = tagsOf(this.work.tags);
    const { priority } = this.work;
    if (tags.length === 0 && priority === "MEDIUM") return;
    await operation("tasks_edit", { workspace: this.workspace, ...target, priority, tags });
  }
}

const isBlank = (step: { title: string; criteria: string; tests: string }): boolean =>
  !step.title.trim() && !step.criteria.trim() && !step.tests.trim();

const kept = new Map<string, NewWork>();

/** The draft of this workspace, as it was left. */
export function draftOf(workspace: string, kind: Kind): NewWork {
  const key = `${kind} ${workspace}`;
  const draft = kept.get(key) ?? new NewWork(workspace, kind);
  kept.set(key, draft);
  return draft;
}
