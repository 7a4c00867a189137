import { describe, expect, it } from "vitest";
import {
  checkRows,
  continued,
  countsText,
  holdNote,
  holdText,
  NO_OUTPUT,
  openChecks,
  OUTPUT_CHARS_MAX,
  runnable,
  waiverUntil,
  type CheckProof,
  type StepProof,
  type TaskProof,
  type Waiver,
} from "../src/state/proof";

const ada = { kind: "person", name: "ada", via: "page" } as const;
const waiver = (more: Partial<Waiver> = {}): Waiver => ({
  check: "e2e",
  reason: "the license server is down",
  by: ada,
  at_ms: 1,
  of_task: false,
  holds: true,
  ...more,
});
const step = (path: string, completed: boolean, checks: CheckProof[]): StepProof => ({
  step_id: `STEP-${path}`,
  path,
  title: path,
  completed,
  checks,
});
const proof = (checks: CheckProof[], steps: StepProof[]): TaskProof => ({ ...whole, checks, steps }) as unknown as TaskProof;
const whole = {
  workspace: "harbour",
  target: { id: "TASK-001", title: "A task", status: "ACTIVE", revision: 1 },
  holds: false,
  findings: [],
  waivers_asked: [],
};

describe("the checks of a task", () => {
  it("has one row per check, with every place that asks for it, the worst first", () => {
    const rows = checkRows(
      proof(
        [
          { name: "tests", state: "stale" },
          { name: "lint", state: "passed" },
        ],
        [
          step("s:0", true, [{ name: "tests", state: "stale", closed_with: "CHK-000001" }]),
          step("s:1", false, [{ name: "e2e", state: "failed", failed_tests: ["a"] }]),
        ],
      ),
    );
    expect(rows.map((row) => [row.name, row.state])).toEqual([
      ["e2e", "failed"],
      ["tests", "stale"],
      ["lint", "passed"],
    ]);
    expect(rows[1]?.places.map((place) => [place.step?.path, place.closedWith])).toEqual([
      [undefined, undefined],
      ["s:0", "CHK-000001"],
    ]);
    expect(openChecks(rows)).toEqual(["e2e: failed", "tests: stale"]);
    expect(runnable(rows)).toEqual(["e2e", "tests"]);
    expect(holdText(rows)).toBe("1 of 3 checks holds on these files");
  });

  it("shows a check that is set aside in one place as it stands in the others", () => {
    const failed: CheckProof = { name: "e2e", state: "failed", verdict: "failed", tail: "went wrong" };
    const waived: CheckProof = { name: "e2e", state: "waived", verdict: "failed", waivers: [waiver()] };
    const both = proof([], [step("s:0", false, [waived]), step("s:1", false, [failed])]);
    const [row] = checkRows(both);
    expect(row?.state).toBe("failed");
    expect(row?.check.tail).toBe("went wrong");
    expect(row?.waivers.map((one) => one.step?.path)).toEqual(["s:0"]);
    expect(checkRows(both, "s:0").map((one) => one.state)).toEqual(["waived"]);
    expect(holdNote(both)).toBe("0/1");
  });

  it("does not judge a task by steps that are closed", () => {
    const later: CheckProof = { name: "tests", state: "stale" };
    const [row] = checkRows(
      proof([], [step("s:0", true, [later]), step("s:1", false, [{ name: "tests", state: "waived", waivers: [waiver()] }])]),
    );
    expect(row?.state).toBe("waived");
    expect(checkRows(proof([], [step("s:0", true, [later])]))[0]?.state).toBe("stale");
  });

  it("lists a waiver of the whole task once", () => {
    const aside: CheckProof = { name: "e2e", state: "waived", waivers: [waiver({ of_task: true })] };
    const [row] = checkRows(proof([aside], [step("s:0", false, [aside]), step("s:1", false, [aside])]));
    expect(row?.waivers).toEqual([{ waiver: waiver({ of_task: true }), step: undefined }]);
  });

  it("says what holds in whole sentences", () => {
    expect(holdText([])).toBe("Nothing has to be checked");
    expect(holdText(checkRows(proof([{ name: "a", state: "passed" }], [])))).toBe("The check holds on these files");
    const two = checkRows(proof([{ name: "a", state: "passed" }, { name: "b", state: "waived" }], []));
    expect(holdText(two)).toBe("All checks hold on these files");
    expect(countsText({ passed: 1241, failed: 1, skipped: 0 })).toBe(`${(1241).toLocaleString()} passed, 1 failed`);
    expect(countsText(undefined)).toBe("");
    expect(waiverUntil(waiver())).toBe("for good");
    expect(waiverUntil(waiver({ scope: "one" }))).toBe("for these files");
    expect(waiverUntil(waiver({ scope: "one", holds: false }))).toBe("for other files, so it no longer counts");
  });
});

describe("the output of a run", () => {
  const piece = (text: string, next_offset: number) => ({ text, next_offset, bytes: 90, ended: false, phase: "started" });

  it("grows from where it ended", () => {
    const first = continued(NO_OUTPUT, piece("one\n", 4));
    const second = continued(first, { ...piece("two\n", 8), ended: true });
    expect(second).toEqual({ text: "one\ntwo\n", offset: 8, bytes: 90, cut: false, ended: true, phase: "started" });
  });

  it("loses whole lines of its beginning when it is too long", () => {
    const long = `${"x".repeat(99)}\n`.repeat(OUTPUT_CHARS_MAX / 100);
    const first = continued(NO_OUTPUT, piece(long, 1));
    expect(first.cut).toBe(false);
    const second = continued(first, piece("end\n", 2));
    expect(second.cut).toBe(true);
    expect(second.text.startsWith("x".repeat(99))).toBe(true);
    expect(second.text.endsWith("\nend\n")).toBe(true);
    expect(second.text.length).toBeLessThanOrEqual(OUTPUT_CHARS_MAX);
  });
});
