// The run reducer: patches, maps, numbers, snapshots.
import { describe, expect, test } from "vitest";
import type { Edge, Run, RunEvent } from "../src/api/wire";
import { applyRun, askingWords, edgeName, freshRun, liveTail, type RunState } from "../src/state/run";

const run = { id: "r", lastSeq: 1, nodes: {}, edges: {}, nodeConfigs: {}, approvals: {}, artifactCount: 0, status: "queued" } as unknown as Run;
const event = (seq: number, type: string, rest: object = {}): RunEvent =>
  ({ id: `e${seq}`, runId: "r", ts: `2026-01-01T00:00:0${seq}.000Z`, seq, type, ...rest }) as unknown as RunEvent;
const node = (id: string): object => ({ id, number: 1, status: "idle", summary: "idle", turn: null });

test("whether agents ask is said in words", () => {
  const asking = (...modes: string[]): string =>
    askingWords({ nodes: modes.map((cliPermissionsMode) => ({ permissions: { cliPermissionsMode } })) } as unknown as Run);
  expect([asking(), asking("gated"), asking("skip"), asking("skip", "gated")]).toEqual([
    "",
    "agents ask",
    "agents do not ask",
    "some agents ask",
  ]);
});

describe("applyRun", () => {
  test("each number counts once, even when it is repeated", () => {
    const born = event(2, "node.patch", { nodeId: "n", patch: node("n") });
    const once = applyRun(freshRun(run), [born]);
    const twice = applyRun(once, [born, event(3, "node.progress", { nodeId: "n", status: "running", summary: "works" }), born]);
    expect(twice.run.nodes["n"]).toMatchObject({ status: "running", summary: "works" });
    expect(twice.run.lastSeq).toBe(3);
    expect(once.run.nodes["n"]).toMatchObject({ status: "idle" });
  });

  test("a patch of an unknown node creates none", () => {
    const state = applyRun(freshRun(run), [event(2, "node.patch", { nodeId: "n", patch: { status: "running" } })]);
    expect(state.run.nodes).toEqual({});
  });

  test("a snapshot replaces everything, even with an older state", () => {
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
    expect(state.tails["n"]?.text).toHaveLength(140);
    expect(state.tails["n"]?.text).toMatch(/end$/);
  });

  test("a card shows the words of its turn in flight, none of the turn before", () => {
    const said = (seq: number, turnId: string, delta: string) => event(seq, "message.assistant.delta", { nodeId: "n", turnId, delta });
    const begun = (seq: number, turnId: string) => event(seq, "node.patch", { nodeId: "n", patch: { ...node("n"), turn: { turnId } } });
    const tail = (state: RunState): string => liveTail(state, state.run.nodes["n"]!);
    const first = applyRun(freshRun(run), [begun(2, "t1"), said(3, "t1", "one "), said(4, "t1", "two")]);
    expect(tail(first)).toBe("one two");
    const second = applyRun(first, [event(5, "message.assistant.final", { nodeId: "n", turnId: "t1", content: "one two" }), begun(6, "t2")]);
    expect(tail(second)).toBe("");
    expect(tail(applyRun(second, [said(7, "t2", "three")]))).toBe("three");
  });

  test("an edge is called by its label and its ends", () => {
    const nodes = { a: { ...node("a"), label: "Lead" }, b: { ...node("b"), label: "Worker" } };
    const named = (edge: object): string => edgeName({ ...run, nodes } as unknown as Run, edge as unknown as Edge);
    expect(named({ label: "task", from: "a", to: "b", bidirectional: false })).toBe("Edge task from Lead to Worker");
    expect(named({ label: "report", from: "b", to: "a", bidirectional: true })).toBe("Edge report between Worker and Lead");
  });
});
