// A run over time.
import { expect, test } from "vitest";
import type { RunEvent } from "../src/api/wire";
import { waits } from "../src/state/timeline";

const at = (second: number): string => new Date(second * 1000).toISOString();
const asked = (id: string, second: number) =>
  ({ type: "approval.requested", approvalId: id, nodeId: "n", ts: at(second), tool: { name: "push" } }) as unknown as RunEvent;
const answered = (id: string, second: number) =>
  ({ type: "approval.resolved", approvalId: id, nodeId: "n", ts: at(second) }) as unknown as RunEvent;

test("waiting is what lies between a request and its answer", () => {
  const found = waits([asked("a", 1), asked("b", 2), answered("a", 5), answered("unknown", 6)]);
  expect(found.map(({ key, from, to }) => [key, from, to])).toEqual([
    ["a", 1000, 5000],
    ["b", 2000, null],
  ]);
});
