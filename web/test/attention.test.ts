// What waits, and what can be done about it.
import { expect, test } from "vitest";
import type { RunEvent } from "../src/api/wire";
import { choices, itemKey, refusedCompletion, type Waiting } from "../src/state/attention";

const event = (seq: number, type: string, rest: object = {}): RunEvent => ({ id: "e", runId: "r", ts: "2026-01-01T00:00:00.000Z", seq, type, nodeId: "n", ...rest }) as unknown as RunEvent;
const refused = event(5, "tool.completed", { toolId: "t", result: { ok: false }, error: { code: "OPEN_WORK", message: "coder works" } });

test("a completion that was refused waits until one is accepted", () => {
  expect(refusedCompletion([refused])).toMatchObject({ kind: "refused", refId: "5", title: "Completion refused: coder works" });
  expect(refusedCompletion([refused, event(9, "run.phase", { phase: "VERIFY" })])).toBeUndefined();
  expect(refusedCompletion([event(3, "run.phase", { phase: "VERIFY" }), refused])).toBeDefined();
  expect(refusedCompletion([event(6, "tool.completed", { error: { code: "NO_EDGE", message: "" } })])).toBeUndefined();
});

test("every kind has an answer with a key, and keys are not given twice", () => {
  for (const kind of ["approval", "question", "stall", "node_failed", "verify_failed", "budget", "violation", "restart", "refused"] as const) {
    const item: Waiting = { kind, runId: "r", nodeId: "n", refId: "x", title: "", since: "" };
    const keys = choices(item, undefined).map((choice) => choice.keys);
    expect(keys).toContain("Enter");
    expect(new Set(keys).size).toBe(keys.length);
    expect(itemKey(item)).toBe(`${kind} r n x`);
  }
});
