// What the page shows of steps and histories.
import { describe, expect, test } from "vitest";
import {
  branches,
  byRank,
  concernsTask,
  depth,
  gates,
  isBelow,
  joinedEvents,
  joinedRows,
  missing,
  type PlanRow,
  type Step,
  type TaskRow,
} from "../src/state/work";
import {
  changes,
  eventText,
  nextRedo,
  nextUndo,
  notesOf,
  receipt,
  undoNote,
  webAddress,
} from "../src/state/work_words";
import type { Operation, WorkEvent } from "../src/state/work";

function step(part: Partial<Step>): Step {
  const none = {
    criteria_confirmed: false,
    tests_confirmed: false,
    security_confirmed: false,
    perf_confirmed: false,
    docs_confirmed: false,
  };
  const needs = { require_security: false, require_perf: false, require_docs: false };
  const modes = {
    proof_tests_mode: "off",
    proof_security_mode: "off",
    proof_perf_mode: "off",
    proof_docs_mode: "off",
  } as const;
  const proofs = {
    proof_tests_present: false,
    proof_security_present: false,
    proof_perf_present: false,
    proof_docs_present: false,
  };
  const rest = {
    step_id: "STEP-1",
    path: "s:0",
    title: "One",
    success_criteria: [],
    tests: [],
    blockers: [],
    completed: false,
    forced: false,
    blocked: false,
  };
  return {
    ...none,
    ...needs,
    ...modes,
    ...proofs,
    ...rest,
    notes_count: 0,
    evidence_count: 0,
    nodes: [],
    created_at_ms: 0,
    updated_at_ms: 0,
    ...part,
  } as Step;
}

function operation(part: Partial<Operation>): Operation {
  return {
    seq: 1,
    ts: "",
    ts_ms: 0,
    task: "TASK-001",
    intent: "edit",
    payload: {},
    derived: [],
    undoable: true,
    undone: false,
    ...part,
  } as Operation;
}

describe("steps", () => {
  test("criteria and tests always count, others when they are needed, confirmed or to be proven", () => {
    expect(gates(step({})).map((gate) => gate.checkpoint)).toEqual(["criteria", "tests"]);
    const more = gates(step({ require_security: true, docs_confirmed: true, proof_perf_mode: "warn" }));
    expect(more.map((gate) => gate.checkpoint)).toEqual(["criteria", "tests", "security", "perf", "docs"]);
  });

  test("what closing lacks is listed in full", () => {
    const parent = step({
      blocked: true,
      block_reason: "proxy",
      criteria_confirmed: true,
      proof_tests_mode: "require",
    });
    const child = step({ path: "s:0.s:0", completed: false });
    expect(missing(parent, [parent, child])).toEqual([
      "blocked: proxy",
      "Tests not confirmed",
      "no proof of tests",
      "open substeps: 1",
    ]);
    const met = step({ criteria_confirmed: true, tests_confirmed: true });
    expect(missing(met, [met, step({ path: "s:01" })])).toEqual([]);
  });

  test("paths know their depth and what is folded", () => {
    expect([depth("s:0"), depth("s:0.s:2.s:1")]).toEqual([0, 2]);
    expect(isBelow("s:1.s:0.s:3", new Set(["s:1"]))).toBe(true);
    expect(isBelow("s:10", new Set(["s:1"]))).toBe(false);
  });
});

describe("lists", () => {
  const plan = { id: "PLAN-001" } as PlanRow;
  const task = (id: string, parent: string): TaskRow => ({ id, parent }) as TaskRow;

  test("tasks are grouped by plan, including a plan that is not listed", () => {
    const found = branches({ plans: [plan], tasks: [task("TASK-001", "PLAN-001"), task("TASK-002", "PLAN-009")] });
    expect(found.map((branch) => [branch.id, branch.tasks.map((one) => one.id)])).toEqual([
      ["PLAN-001", ["TASK-001"]],
      ["PLAN-009", ["TASK-002"]],
    ]);
  });

  test("a row on two pages is listed once, in its latest form", () => {
    const rows = joinedRows(
      [{ id: "a", n: 1 }],
      [
        { id: "a", n: 2 },
        { id: "b", n: 3 },
      ],
    );
    expect(rows).toEqual([
      { id: "a", n: 2 },
      { id: "b", n: 3 },
    ]);
  });
});

describe("history", () => {
  test("undo takes the newest that can be, redo the one undone last", () => {
    const fixed = operation({ seq: 4, undoable: false });
    const undone = operation({ seq: 3, undone: true });
    const old = operation({ seq: 2 });
    expect(nextUndo([fixed, undone, old])?.seq).toBe(2);
    expect(nextRedo([fixed, undone, old])?.seq).toBe(3);
    expect(nextRedo([operation({ seq: 5 }), undone])).toBeUndefined();
  });

  test("only what differs is a change, and what followed elsewhere is named", () => {
    const derived = [{ id: "PLAN-001", path: null, field: "status", before: "TODO", after: "ACTIVE" }];
    const found = changes(operation({ before: { title: "a", tags: [] }, after: { title: "b", tags: [] }, derived }));
    expect(found).toEqual([
      { where: "", field: "title", before: "a", after: "b" },
      { where: "PLAN-001", field: "status", before: "TODO", after: "ACTIVE" },
    ]);
  });
});

describe("receipts", () => {
  test("commands and links are distinguished", () => {
    expect(receipt("CMD: cargo test")).toEqual({ kind: "command", text: "cargo test" });
    expect(receipt("LINK: https://ci.example.org/1").kind).toBe("link");
    expect(receipt("looked at it").kind).toBe("text");
  });

  test("only web addresses can be opened", () => {
    expect(webAddress("https://ci.example.org/1")).toBe("https://ci.example.org/1");
    expect(webAddress("javascript:alert(1)")).toBeUndefined();
    expect(webAddress("notes.txt")).toBeUndefined();
  });
});

describe("words", () => {
  test("fields of an event are named as people read them", () => {
    const event = { payload: { fields: ["success_criteria", "blockers", "proof_tests_mode"] } } as unknown as WorkEvent;
    expect(eventText(event)).toBe("criteria, blockers, proof of tests");
  });

  const event = (type: string, path: string, payload: Record<string, unknown>): WorkEvent => ({
    event_id: `${type} ${path}`,
    seq: 1,
    ts: "",
    ts_ms: 0,
    task_id: "TASK-001",
    task: "TASK-001",
    path,
    type,
    payload: payload as WorkEvent["payload"],
  });

  test("the newest three notes of a step come first, and no other notes", () => {
    const events = ["a", "b", "c", "d"].map((note) => event("step_noted", "s:0", { note }));
    const others = [event("step_noted", "s:1", { note: "x" }), event("step_done", "s:0", {})];
    expect(notesOf([...events, ...others], "s:0").map(eventText)).toEqual(["d", "c", "b"]);
  });
});

describe("events of a task", () => {
  const event = (seq: number, task = "TASK-001", payload: object = {}): WorkEvent => ({ seq, event_id: `evt_${seq}`, task_id: task, task, type: "x", ts: "", ts_ms: 0, payload }) as WorkEvent;
  const seqs = (events: readonly WorkEvent[]): number[] => events.map((one) => one.seq);

  test("pages are joined by number, and none is listed twice", () => {
    expect(seqs(joinedEvents([event(1), event(4)], [event(4), event(9)], true))).toEqual([1, 4, 9]);
    expect(seqs(joinedEvents([], [event(2)], false))).toEqual([2]);
  });

  test("a full page that does not reach what is known replaces it, so that no gap is shown", () => {
    expect(seqs(joinedEvents([event(1), event(2)], [event(7), event(8)], true))).toEqual([7, 8]);
    expect(seqs(joinedEvents([event(1), event(2)], [event(7), event(8)], false))).toEqual([1, 2, 7, 8]);
  });

  test("events concern a task if they are its own, of a linked task, or name it", () => {
    const tied = new Set(["TASK-002"]);
    expect(concernsTask([event(1, "TASK-001")], "TASK-001", tied)).toBe(true);
    expect(concernsTask([event(1, "TASK-002")], "TASK-001", tied)).toBe(true);
    expect(concernsTask([event(1, "TASK-003")], "TASK-001", tied)).toBe(false);
    expect(concernsTask([event(1, "TASK-003", { patch: { depends_on: ["TASK-001"] } })], "TASK-001", tied)).toBe(true);
    expect(concernsTask([], "TASK-001", tied), "everything may have changed").toBe(true);
  });
});

test("tasks come in the order in which they are worked on; done ones newest first", () => {
  const row = (id: string, part: Partial<TaskRow>): TaskRow =>
    ({ id, status: "TODO", priority: "MEDIUM", waiting: false, updated_at_ms: 0, ...part }) as TaskRow;
  const open = [
    row("TASK-010", {}),
    row("TASK-009", {}),
    row("TASK-001", { waiting: true, priority: "CRITICAL" }),
    row("TASK-011", { priority: "HIGH" }),
  ];
  expect(open.sort(byRank).map((task) => task.id)).toEqual(["TASK-011", "TASK-009", "TASK-010", "TASK-001"]);
  const done = [row("TASK-001", { status: "DONE", updated_at_ms: 1 }), row("TASK-002", { status: "DONE", updated_at_ms: 2 })];
  expect(done.sort(byRank).map((task) => task.id)).toEqual(["TASK-002", "TASK-001"]);
});

test("each operation says whether it can be undone, and why not", () => {
  const history = [
    operation({ seq: 5, intent: "task_detail_patch", undone: true, undoable: true }),
    operation({ seq: 4, intent: "evidence_capture", undoable: false }),
    operation({ seq: 3, intent: "step_patch", undoable: true }),
    operation({ seq: 2, intent: "step_patch", undoable: true }),
    operation({ seq: 1, intent: "something_new", undoable: false }),
  ];
  expect(history.map((one) => undoNote(one, history))).toEqual([
    "redo applies it again",
    "stays: evidence is a record",
    "undo reverts this",
    "can be undone after what came later",
    "cannot be undone: change it by hand",
  ]);
});
