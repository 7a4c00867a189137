import { describe, expect, it } from "vitest";
import type { Attention, WorkAttention } from "../src/api/wire";
import { occurrence, waitingKey, waitingList, waitingWord, workChoices, workPlace } from "../src/state/waiting";

const failed: WorkAttention = {
  kind: "check_failed",
  workspace: "harbour",
  taskId: "TASK-001",
  stepId: "STEP-00000004",
  path: "s:3",
  check: "e2e",
  title: "Client goes on by itself: e2e failed, 1 test",
  advice: "Run it again.",
  actions: ["run", "waive"],
  since: "2026-05-04T09:12:44.000Z",
};
const approval: Attention = {
  kind: "approval",
  runId: "0197",
  title: "push",
  since: "2026-05-04T09:12:43.000Z",
};

describe("what waits for a person", () => {
  it("is one list: what is asked first, then failures, each oldest first", () => {
    const asked: WorkAttention = { ...failed, kind: "waiver_asked", since: "2026-05-04T09:00:00.000Z" };
    const list = waitingList([approval], [failed, asked]);
    expect(list.map(waitingWord)).toEqual(["Waiver asked for", "Approval", "Check failed"]);
    const early: WorkAttention = { ...failed, since: "2026-05-01T00:00:00.000Z" };
    expect(waitingList([approval], [early]).map(waitingWord)).toEqual(["Approval", "Check failed"]);
    expect(new Set(list.map(waitingKey)).size).toBe(3);
  });

  it("comes back when it happens again", () => {
    const again = { ...failed, since: "2026-05-05T00:00:00.000Z" };
    expect(waitingKey({ of: "work", item: again })).toBe(waitingKey({ of: "work", item: failed }));
    expect(occurrence({ of: "work", item: again })).not.toBe(occurrence({ of: "work", item: failed }));
  });

  it("has agents that wait in their terminals, each session once, and lets them be hidden", () => {
    const { taskId: _, stepId: __, check: ___, path: ____, ...place } = failed;
    const waits: WorkAttention = { ...place, kind: "agent_waits", actions: [], sessionId: "s-1" };
    const other = { ...waits, sessionId: "s-2" };
    const list = waitingList([], [failed, waits, other]);
    expect(list.map(waitingWord)).toEqual(["Agent waits", "Agent waits", "Check failed"]);
    expect(new Set(list.map(waitingKey)).size).toBe(3);
    expect(workChoices(waits).map((choice) => choice.kind)).toEqual(["hide"]);
  });

  it("says where work waits", () => {
    expect(workPlace(failed)).toBe("harbour · TASK-001 · s:3");
    const { taskId: _, path: __, ...changed } = { ...failed, kind: "definitions_changed" as const };
    expect(workPlace(changed)).toBe("harbour");
  });

  it("offers what can be done at once, the likely answer first", () => {
    expect(workChoices(failed).map((choice) => [choice.title, choice.keys])).toEqual([
      ["Run again", "g"],
      ["Waive …", ""],
      ["Hide", "x"],
    ]);
    const asked: WorkAttention = { ...failed, kind: "waiver_asked", actions: ["waive", "decline", "run"] };
    expect(workChoices(asked).map((choice) => choice.keys)).toEqual(["y", "n"]);
    expect(workChoices({ ...failed, kind: "definitions_changed", actions: ["accept", "keep"] })).toEqual([]);
  });
});
