// Lists of a task that need more than one response: steps, evidence, operations, events, and dependents.
import { operation, type OperationResult } from "../../api/client";
import {
  relatedRow,
  type Evidence,
  type Operation,
  type Related,
  type Relations,
  type Step,
  type WorkEvent,
} from "../../state/work";

/** The most that the server returns at once. */
export const MOST = 1000;
/** How many event numbers one request for older events covers; it grows while nothing is found. */
const STRIDE_FIRST = 4_000;
const STRIDE_GROWTH = 8;
/** Dependencies that are resolved in one request. */
const NAMED_MAX = 30;
const DEPENDENTS_MAX = 100;
/** Plans that a task can be moved to. */
const PLANS_MAX = 200;

export interface Named {
  workspace: string;
  task: string;
}

/** Steps after the first page. */
export async function moreSteps(target: Named, cursor: string | null | undefined): Promise<Step[]> {
  const steps: Step[] = [];
  for (let next = cursor; next; ) {
    const wishes = { ...target, read_only: true, events_limit: 0, steps_limit: MOST, steps_cursor: next };
    const page = await operation("tasks_resume", wishes);
    steps.push(...(page.steps ?? []));
    next = page.steps_pagination?.next_cursor;
  }
  return steps;
}

/** Every evidence record, newest first, without content. The server lists the oldest first. */
export async function allEvidence(target: Named): Promise<Evidence[]> {
  const records: Evidence[] = [];
  let cursor: string | null = null;
  do {
    const wishes = { ...target, bodies: false, limit: MOST, ...(cursor ? { cursor } : {}) };
    const page: OperationResult<"tasks_evidence_get"> = await operation("tasks_evidence_get", wishes);
    records.push(...page.evidence);
    cursor = page.pagination.has_more ? page.pagination.next_cursor : null;
  } while (cursor);
  return records.reverse();
}

/** The newest operations, this many or all; and whether there are more. */
export async function operations(target: Named, wanted: number): Promise<{ rows: Operation[]; more: boolean }> {
  const rows: Operation[] = [];
  let cursor: number | null = null;
  for (;;) {
    const limit = Math.min(MOST, wanted - rows.length);
    const wishes = { ...target, limit, ...(cursor ? { cursor } : {}) };
    const page: OperationResult<"tasks_history"> = await operation("tasks_history", wishes);
    rows.push(...page.operations);
    cursor = page.pagination.next_cursor;
    const more = page.pagination.has_more && Boolean(cursor);
    if (!more || rows.length >= wanted) return { rows, more };
  }
}

/** Events before this number, the nearest ones, oldest first; empty when there are none. The server only goes
    forwards, so a stretch before the number is read, and a longer one where it is empty. */
export async function eventsBefore(target: Named, seq: number): Promise<WorkEvent[]> {
  for (let [end, stride] = [seq, STRIDE_FIRST]; end > 1; stride *= STRIDE_GROWTH) {
    const begin = Math.max(0, end - 1 - stride);
    const events = await eventsBetween(target, begin, end);
    if (events.length > 0) return events;
    end = begin + 1;
  }
  return [];
}

/** Events with a number above the first and below the second. */
async function eventsBetween(target: Named, begin: number, end: number): Promise<WorkEvent[]> {
  const events: WorkEvent[] = [];
  for (let since: number | string = begin; ; ) {
    const page: OperationResult<"tasks_delta"> = await operation("tasks_delta", { ...target, since, limit: MOST });
    const within = page.events.filter((event) => event.seq < end);
    events.push(...within);
    if (!page.has_more || within.length < page.events.length || !page.cursor) return events;
    since = page.cursor;
  }
}

/** What something depends on and what depends on it, by name. */
export async function relations(target: Named, needs: readonly string[]): Promise<Relations> {
  const { workspace, task } = target;
  const limit = DEPENDENTS_MAX;
  const [after, ...before] = await Promise.all([
    operation("tasks_context", { workspace, depends_on: task, limit }),
    ...needs.slice(0, NAMED_MAX).map((id) => named(workspace, id)),
  ]);
  return {
    needs: [...before, ...needs.slice(NAMED_MAX).map((id) => ({ id, title: id, done: false }))],
    neededBy: [...after.plans, ...after.tasks].map(relatedRow),
    neededByTotal: after.plans_pagination.total + after.tasks_pagination.total,
  };
}

/** The plans of a workspace, by name. */
export async function plansOf(workspace: string): Promise<Related[]> {
  const { plans } = await operation("tasks_context", { workspace, plans_limit: PLANS_MAX, tasks_limit: 1 });
  return plans.map(relatedRow);
}

/** A plan or task by its id, with its title. */
export async function named(workspace: string, id: string): Promise<Related> {
  try {
    const { plans, tasks } = await operation("tasks_context", { workspace, target: id, limit: 1 });
    const found = [...tasks, ...plans].find((row) => row.id === id);
    return found ? relatedRow(found) : { id, title: id, done: false };
  } catch {
    // It was deleted: only the id is left.
    return { id, title: id, done: false };
  }
}
