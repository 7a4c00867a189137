// What a person types for a plan, a task or its steps, before it is sent.
import type { OperationResult } from "../api/client";
import type { Priority } from "./work";

export type WorkTemplate = OperationResult<"tasks_templates_list">["templates"][number];

/** A step as it is typed: one line each for criteria and tests. */
export interface DraftStep {
  title: string;
  criteria: string;
  tests: string;
  checks: string[];
  proof: Readonly<Record<string, string>>;
}

export interface DraftWork {
  title: string;
  description: string;
  priority: Priority;
  tags: string;
  steps: DraftStep[];
}

export interface StepInput {
  title: string;
  success_criteria: string[];
  tests: string[];
  checks?: string[];
  proof_modes?: Readonly<Record<string, "off" | "warn" | "require">>;
}

export const TITLE_MAX = 500;
export const PRIORITIES: readonly Priority[] = ["CRITICAL", "HIGH", "MEDIUM", "LOW"];

export const emptyStep = (title = ""): DraftStep => ({ title, criteria: "", tests: "", checks: [], proof: {} });

/** The lines of a text without blank ones and without bullets. */
export function linesOf(text: string): string[] {
  return text
    .split("\n")
    .map((line) => line.replace(/^\s*(?:(?:[-*+]|\d+[.)])\s+)?(?:\[[ xX]\]\s+)?/, "").trim())
    .filter(Boolean);
}

/** Tags that are separated by commas or spaces. */
export function tagsOf(text: string): string[] {
  return [...new Set(text.split(/[\s,]+/).filter(Boolean))];
}

/** Names of checks that are separated by commas or spaces. */
export const checksOf = tagsOf;

export function stepInput(step: DraftStep): StepInput {
  return {
    title: step.title.trim(),
    success_criteria: linesOf(step.criteria),
    tests: linesOf(step.tests),
    ...(step.checks.length > 0 ? { checks: [...step.checks] } : {}),
    ...(Object.keys(step.proof).length > 0 ? { proof_modes: step.proof as StepInput["proof_modes"] & {} } : {}),
  };
}

export function templateSteps(template: WorkTemplate): DraftStep[] {
  return (template.steps ?? []).map((step) => ({
    title: step.title,
    criteria: step.success_criteria.join("\n"),
    tests: step.tests.join("\n"),
    checks: [],
    proof: step.proof_modes,
  }));
}

const ITEM = /^(\s*)(?:[-*+]|\d+[.)])\s+(?:\[[ xX]\]\s+)?(.+?)\s*$/;
const LABEL = /^(done when|criterion|criteria|tests?|checked by|checks?)\s*:\s*(.+)$/i;

/** The steps of a Markdown list; undefined if the text is not a list of at least two lines. */
export function checklist(text: string): DraftStep[] | undefined {
  const rows = text.split("\n").filter((line) => line.trim());
  const items = rows.map((line) => ITEM.exec(line.replaceAll("\t", "    ")));
  if (rows.length < 2 || items.some((item) => !item)) return undefined;
  const steps: DraftStep[] = [];
  const base = Math.min(...items.map((item) => item![1]!.length));
  for (const item of items) {
    const words = plain(item![2]!);
    const step = steps.at(-1);
    if (item![1]!.length === base || !step) steps.push(emptyStep(words));
    else addDetail(step, words);
  }
  return steps;
}

/** A line below a step says when it is done, unless it is labelled as a test or a check. */
function addDetail(step: DraftStep, words: string): void {
  const labelled = LABEL.exec(words);
  const label = labelled?.[1]?.toLowerCase() ?? "done when";
  const value = labelled?.[2] ?? words;
  if (/^checks?$/.test(label)) step.checks = [...new Set([...step.checks, ...checksOf(value)])];
  else if (/^(tests?|checked by)$/.test(label)) step.tests = joined(step.tests, value);
  else step.criteria = joined(step.criteria, value);
}

const joined = (text: string, line: string): string => (text ? `${text}\n${line}` : line);

/** A list item without emphasis and links. */
function plain(text: string): string {
  return text
    .replace(/\[([^\]]+)\]\([^)]*\)/g, "$1")
    .replace(/(\*\*|__)(.+?)\1/g, "$2")
    .replace(/`([^`]+)`/g, "$1");
}

/** Problems by field: `title`, `tags`, `steps.0.title`; empty if everything can be sent. */
export function problems(work: Pick<DraftWork, "title" | "tags">, steps: readonly DraftStep[]): Record<string, string> {
  const found: Record<string, string> = {};
  const title = titleProblem(work.title);
  if (title) found["title"] = title;
  const tags = tagsOf(work.tags);
  if (tags.length > 50) found["tags"] = "At most 50 tags.";
  if (tags.some((tag) => tag.length > 100)) found["tags"] = "A tag has at most 100 characters.";
  steps.forEach((step, at) => {
    const problem = titleProblem(step.title);
    if (problem) found[`steps.${at}.title`] = problem;
  });
  return found;
}

export function titleProblem(title: string): string {
  if (!title.trim()) return "Enter a title.";
  return title.length > TITLE_MAX ? `At most ${TITLE_MAX} characters; this has ${title.length}.` : "";
}

const FIELDS = ["title", "description", "tags", "depends_on", "priority", "contract"];

/** The field that shows a refusal of this argument; empty for the whole form. */
export function refusedField(argument: string): string {
  const step = /^steps\[(\d+)\](?:\.(\w+))?/.exec(argument);
  if (step) return `steps.${step[1]}.${fieldName(step[2] ?? "title")}`;
  return FIELDS.find((field) => field === argument.split("[", 1)[0]) ?? "";
}

function fieldName(argument: string): string {
  return argument === "success_criteria" ? "criteria" : argument;
}
