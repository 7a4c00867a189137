// Waiting items, and what can be done about them.
import { expect, test } from "vitest";
import type { Attention } from "../src/api/wire";
import { choices, itemKey } from "../src/state/attention";

const KINDS = ["approval", "question", "stall", "node_failed", "input_failed", "verify_failed", "budget", "violation", "restart", "refused"] as const;

test("every kind has an answer with a key, and keys are not given twice", () => {
  for (const kind of KINDS) {
    const item: Attention = { kind, runId: "r", nodeId: "n", refId: "x", title: "", since: "" };
    const keys = choices(item, undefined).map((choice) => choice.keys);
    expect(keys).toContain("Enter");
    expect(new Set(keys).size).toBe(keys.length);
    if (kind !== "approval") expect(keys).not.toContain("y");
    expect(itemKey(item)).toBe(`${kind} r n x`);
  }
});

test("a refused completion is dismissed, or answered where a node declared it", () => {
  const item: Attention = { kind: "refused", runId: "r", nodeId: "n", refId: "t", title: "", since: "" };
  expect(choices(item, undefined).map((choice) => choice.kind)).toEqual(["dismiss", "reply", "open"]);
  expect(choices({ ...item, nodeId: null }, undefined).map((choice) => choice.kind)).toEqual(["dismiss", "open"]);
});
