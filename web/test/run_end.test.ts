// The end of a run.
import { expect, test } from "vitest";
import type { RunEnding } from "../src/api/wire";
import { checkVerdict, doneTone, doneWord, endTone } from "../src/state/run_end";

const check = (part: object) => ({ ok: true, required: true, timedOut: false, ...part }) as RunEnding["checks"][number];

test("claimed and proven lines look different", () => {
  expect([doneWord("proven"), doneTone("proven")]).toEqual(["met, proven", "done"]);
  expect([doneWord("claimed"), doneTone("claimed")]).toEqual(["met, claimed", "running"]);
  expect(doneTone("unmet")).toBe("failed");
});

test("an optional check that failed is said, and does not make the run fail", () => {
  const optional = check({ ok: false, required: false });
  expect(checkVerdict(optional)).toEqual({ word: "failed, optional", tone: "blocked" });
  expect(checkVerdict(check({ ok: false, timedOut: true }))).toEqual({ word: "took too long", tone: "failed" });
  expect(endTone({ status: "completed", checks: [check({}), optional] })).toBe("done");
  expect(endTone({ status: "completed", checks: [check({ ok: false })] })).toBe("failed");
  expect(endTone({ status: "completed", checks: [] })).toBe("blocked");
});
