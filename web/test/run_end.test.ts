// The end of a run.
import { expect, test } from "vitest";
import type { Run } from "../src/api/wire";
import { endFacts, openPoints, pullText } from "../src/state/run_end";

const run = (part: object): Run =>
  ({
    name: "Uploads",
    goal: "Resume uploads",
    definitionOfDone: ["three drops end well"],
    completion: { by: "orchestrator", nodeId: "n", summary: "It works." },
    nodes: { n: { label: "Lead", failedInputs: 0, question: null } },
    ...part,
  }) as unknown as Run;

test("who declared it done is said, and whether checks agree", () => {
  expect(endFacts(run({}), []).headline).toBe("Declared done by Lead; no check ran");
  const passed = run({ verification: { ok: true } });
  expect(endFacts(passed, []).tone).toBe("done");
  const optional = [{ name: "lint", ok: false, required: false }];
  expect(endFacts(passed, optional).headline).toBe("Done, checks passed; optional and failed: lint");
  expect(endFacts(run({ verification: { ok: false } }), []).tone).toBe("failed");
});

test("open questions stay visible", () => {
  const nodes = { n: { label: "Lead", failedInputs: 1, question: { text: "Ship it?" } } };
  expect(openPoints(run({ nodes }))).toEqual(["Lead asked: Ship it?", "Lead has messages that failed"]);
});

test("a pull request says what was asked and what was checked", () => {
  const text = pullText(run({}), [{ name: "tests", ok: true }]);
  expect(text).toBe("# Uploads\n\nResume uploads\n\nIt works.\n\n## Done when\n\n- three drops end well\n\n## Checks\n\n- tests: passed");
});
