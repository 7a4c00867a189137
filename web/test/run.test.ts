// The run reducer: patches, maps, numbers, snapshots.
import { describe, expect, test } from "vitest";
import type { Run, RunEvent } from "../src/api/wire";
import { applyRun, freshRun } from "../src/state/run";

const run = { id: "r", lastSeq: 1, nodes: {}, edges: {}, nodeConfigs: {}, approvals: {}, artifactCount: 0, status: "queued" } as unknown as Run;
const event = (seq: number, type: string, rest: object = {}): RunEvent =>
  ({ id: `e${seq}`, runId: "r", ts: `2026-01-01T00:00:0${seq}.000Z`, seq, type, ...rest }) as unknown as RunEvent;
const node = (id: string): object => ({ id, number: 1, status: "idle", summary: "idle", turn: null });

describe("applyRun", () => {
  test("each number counts once, whatever comes again", () => {
    const born = event(2, "node.patch", { nodeId: "n", patch: node("n") });
    const once = applyRun(freshRun(run), [born]);
    const twice = applyRun(once, [born, event(3, "node.progress", { nodeId: "n", status: "running", summary: "works" }), born]);
    expect(twice.run.nodes["n"]).toMatchObject({ status: "running", summary: "works" });
    expect(twice.run.lastSeq).toBe(3);
    expect(once.run.nodes["n"]).toMatchObject({ status: "idle" });
  });

  test("a patch of a node that is not there makes none", () => {
    const state = applyRun(freshRun(run), [event(2, "node.patch", { nodeId: "n", patch: { status: "running" } })]);
    expect(state.run.nodes).toEqual({});
  });

  test("a snapshot takes the place of everything, also backwards", () => {
    const state = applyRun(freshRun({ ...run, lastSeq: 90 }), [
      event(5, "run.patch", { snapshot: true, patch: { ...run, lastSeq: 5, name: "after", nodes: { m: node("m") } } }),
      event(6, "node.progress", { nodeId: "m", status: "failed", summary: "broken" }),
    ]);
    expect(state.run.lastSeq).toBe(6);
    expect(state.run.nodes["m"]).toMatchObject({ status: "failed" });
  });

  test("approvals come and go, nodes and edges too", () => {
    const asked = event(2, "approval.requested", { nodeId: "n", approvalId: "a", kind: "tool", canModify: true, tool: { id: "t", name: "push", args: {} } });
    const edge = event(3, "edge.created", { edge: { id: "x", from: "n", to: "m" } });
    const open = applyRun(freshRun(run), [asked, edge]);
    expect(Object.keys(open.run.approvals)).toEqual(["a"]);
    const closed = applyRun(open, [event(4, "approval.resolved", { approvalId: "a" }), event(5, "edge.deleted", { edgeId: "x" })]);
    expect([closed.run.approvals, closed.run.edges]).toEqual([{}, {}]);
  });

  test("the last words of a node are kept short", () => {
    const state = applyRun(freshRun(run), [event(2, "message.assistant.delta", { nodeId: "n", delta: "x".repeat(500) + "end" })]);
    expect(state.tails["n"]).toHaveLength(140);
    expect(state.tails["n"]).toMatch(/end$/);
  });
});
