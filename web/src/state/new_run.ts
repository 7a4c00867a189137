// A run that a person is about to start: what is needed, what is missing, and what is sent.
import type { Project, Provider, Run, RunInput } from "../api/wire";
import { linesOf } from "./draft";
import type { Whole } from "./work";

export interface DraftNode {
  label: string;
  alias: string;
  role: string;
  provider: Provider["name"];
  profile: string;
  gated: boolean;
}

export interface DraftCheck {
  name: string;
  command: string;
}

/** The task that a run works on. */
export interface RunTask {
  workspace: string;
  id: string;
  title: string;
  plan: string | undefined;
}

export interface RunDraft {
  goal: string;
  name: string;
  cwd: string;
  done: string;
  /** Whether the lead goes on until the goal is reached, or waits for messages. */
  goesOn: boolean;
  /** Whether agents may change code, or only plan. */
  writes: boolean;
  /** Whether agents ask before they act. */
  asks: boolean;
  /** Whether each agent works in a worktree of its own. */
  apart: boolean;
  nodes: DraftNode[];
  checks: DraftCheck[];
  budget: Run["budget"];
  task?: RunTask | undefined;
}

export const newRun = (): RunDraft => ({
  goal: "",
  name: "",
  cwd: "",
  done: "",
  goesOn: true,
  writes: true,
  asks: true,
  apart: false,
  nodes: [],
  checks: [],
  budget: { maxTurns: null, maxTokens: null, maxActiveSeconds: null, maxCostUsd: null },
});

/** Installed programs first, then by name as the server lists them. */
export function installedFirst(providers: readonly Provider[]): Provider[] {
  return [...providers].sort((a, b) => Number(b.available) - Number(a.available));
}

/** What keeps the run from being started, by field. */
export function runProblems(draft: RunDraft, providers: readonly Provider[]): Record<string, string> {
  const found: Record<string, string> = {};
  if (!draft.goal.trim()) found["goal"] = "Say what the agents should reach.";
  if (draft.nodes.length === 0) found["nodes"] = "Add at least one agent.";
  if (draft.nodes.some((node) => !node.label.trim())) found["nodes"] = "Every agent needs a name.";
  const missing = draft.nodes.find((node) => providers.some((one) => one.name === node.provider && !one.available));
  if (missing) found["nodes"] = `${missing.provider} is not installed here. Choose another agent, or install it first.`;
  const budget = budgetProblem(draft.budget);
  if (budget) found["budget"] = budget;
  return found;
}

/** What is wrong with limits; empty if nothing is. */
export function budgetProblem({ maxTurns, maxTokens, maxActiveSeconds, maxCostUsd }: Run["budget"]): string {
  if ([maxTurns, maxTokens, maxActiveSeconds].some((value) => value != null && (!Number.isInteger(value) || value < 1)))
    return "Limits are whole numbers above zero; leave a field empty for no limit.";
  return maxCostUsd != null && !(maxCostUsd > 0) ? "A limit of money is above zero." : "";
}

/** What keeps the settings of a run from being saved; empty if nothing does. */
export function settingsProblem(form: {
  checks: readonly { name: string; command: string }[];
  budget: Run["budget"];
  settings: { stallThreshold: number | null | undefined; brakeTurns: number | null | undefined };
}): string {
  if (form.checks.some((check) => !check.name.trim() || !check.command.trim()))
    return "Every check needs a name and a command.";
  const within = (value: number | null | undefined, least: number, most: number): boolean =>
    value != null && Number.isInteger(value) && value >= least && value <= most;
  if (!within(form.settings.stallThreshold, 2, 50)) return "A run stalls after 2 to 50 equal turns.";
  if (!within(form.settings.brakeTurns, 0, 1000)) return "A run stalls after 0 to 1,000 turns without a result.";
  return budgetProblem(form.budget);
}

/** The body of the request. */
export function runInput(draft: RunDraft): RunInput {
  const { goal, name, cwd, task } = draft;
  const limits = Object.entries(draft.budget).filter(([, value]) => value != null);
  return {
    goal: goal.trim(),
    ...(name.trim() ? { name: name.trim() } : {}),
    ...(cwd.trim() ? { cwd: cwd.trim() } : {}),
    definitionOfDone: linesOf(draft.done),
    mode: draft.goesOn ? "AUTO" : "INTERACTIVE",
    globalMode: draft.writes ? "IMPLEMENTATION" : "PLANNING",
    settings: { isolation: draft.apart ? "worktree" : "shared" },
    ...(limits.length > 0 ? { budget: Object.fromEntries(limits) } : {}),
    ...(task ? { workspace: task.workspace, taskId: task.id, ...(task.plan ? { planId: task.plan } : {}) } : {}),
    nodes: draft.nodes.map(({ label, alias, role, provider, profile }) => ({
      label,
      alias,
      roleTemplate: role,
      provider,
      ...(profile ? { providerProfile: profile } : {}),
      permissions: { cliPermissionsMode: draft.asks ? "gated" : "skip" },
    })),
    checks: draft.checks.filter((check) => check.command.trim()),
  } as unknown as RunInput;
}

/** What a task says about a run that works on it: its goal, when it is done, its checks and its folder. */
export function runForTask(workspace: string, whole: Whole, projects: readonly Project[]): Partial<RunDraft> {
  const { target } = whole;
  const open = (whole.steps ?? []).filter((step) => !step.completed);
  const project = projects.find((one) => one.workspace === workspace && one.accepted);
  const defined = project?.accepted?.definition.checks ?? {};
  const named = new Set(open.flatMap((step) => step.checks ?? []));
  const checks = Object.entries(defined).filter(([name, check]) => check.required || named.has(name));
  return {
    goal: [target.title, target.description].filter(Boolean).join("\n\n"),
    done: [...new Set(open.flatMap((step) => step.success_criteria))].join("\n"),
    checks: checks.map(([name, { run }]) => ({ name, command: typeof run === "string" ? run : run.join(" ") })),
    ...(project ? { cwd: project.root } : {}),
    task: { workspace, id: target.id, title: target.title, plan: target.parent ?? undefined },
  };
}
