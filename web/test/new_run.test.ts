// A run that is about to be started.
import { describe, expect, test } from "vitest";
import type { Project, Provider } from "../src/api/wire";
import { installedFirst, newRun, runForTask, runInput, runProblems, type DraftNode, settingsProblem } from "../src/state/new_run";
import { firstWords, folderName, runName } from "../src/state/run_names";
import type { Whole } from "../src/state/work";

const provider = (name: string, available: boolean) => ({ name, available, profiles: [] }) as unknown as Provider;
const lead: DraftNode = { label: "Lead", alias: "lead", role: "orchestrator", provider: "codex", profile: "", gated: true };

describe("a new run", () => {
  test("asks by default, and needs a goal and an installed agent", () => {
    const draft = newRun();
    expect(draft.asks).toBe(true);
    expect(Object.keys(runProblems(draft, []))).toEqual(["goal", "nodes"]);
    const ready = { ...draft, goal: "Go", nodes: [lead] };
    expect(runProblems(ready, [provider("codex", true)])).toEqual({});
    expect(runProblems(ready, [provider("codex", false)])["nodes"]).toContain("codex is not installed");
    const budget = { ...draft.budget, maxTurns: 0 };
    expect(runProblems({ ...ready, budget }, [])["budget"]).toContain("whole numbers");
  });

  test("sends only what was typed", () => {
    const input = runInput({ ...newRun(), goal: " Go ", done: "- a\n\nb", nodes: [lead] });
    expect(input).toMatchObject({ goal: "Go", definitionOfDone: ["a", "b"], settings: { isolation: "shared" } });
    expect(input).not.toHaveProperty("budget");
    expect(input).not.toHaveProperty("cwd");
    expect(input.nodes?.[0]?.permissions?.cliPermissionsMode).toBe("gated");
    const free = runInput({ ...newRun(), goal: "x", asks: false, apart: true, nodes: [lead] });
    expect(free.nodes?.[0]?.permissions?.cliPermissionsMode).toBe("skip");
    expect(free.settings?.isolation).toBe("worktree");
  });

  test("lists installed agents first", () => {
    const names = installedFirst([provider("claude", false), provider("codex", true)]).map((one) => one.name);
    expect(names).toEqual(["codex", "claude"]);
  });

  test("takes everything from the task that it works on", () => {
    const whole = {
      target: { id: "TASK-1", title: "Print", description: "On paper", parent: "PLAN-1" },
      steps: [
        { completed: true, success_criteria: ["old"], checks: ["slow"] },
        { completed: false, success_criteria: ["fits a page"], checks: ["lint"] },
      ],
    } as unknown as Whole;
    const checks = {
      lint: { run: ["npm", "run", "lint"], required: false },
      slow: { run: "slow", required: false },
      tests: { run: "npm test", required: true },
    };
    const project = { root: "/p", workspace: "w", accepted: { definition: { checks } } } as unknown as Project;
    expect(runForTask("w", whole, [project])).toEqual({
      goal: "Print\n\nOn paper",
      done: "fits a page",
      checks: [
        { name: "lint", command: "npm run lint" },
        { name: "tests", command: "npm test" },
      ],
      cwd: "/p",
      task: { workspace: "w", id: "TASK-1", title: "Print", plan: "PLAN-1" },
    });
  });
});

test("a run without a name is called by the first words of its goal", () => {
  const goal = "Make uploads resumable after a lost connection, and test it well";
  expect(runName({ name: "Run 0197abcd", goal })).toBe("Make uploads resumable after a lost connection, and …");
  expect(runName({ name: "Uploads", goal })).toBe("Uploads");
  expect(runName({ name: "Run 0197abcd", goal: null })).toBe("Run 0197abcd");
  expect(firstWords("short")).toBe("short");
  expect(folderName("/home/ada/src/harbour")).toBe("src/harbour");
});

test("settings of a run are refused in the words of their form", () => {
  const budget = { maxTurns: null, maxTokens: null, maxActiveSeconds: null, maxCostUsd: null };
  const settings = { stallThreshold: 3, brakeTurns: 12 };
  const good = { checks: [{ name: "tests", command: "true" }], budget, settings };
  expect(settingsProblem(good)).toBe("");
  expect(settingsProblem({ ...good, checks: [{ name: "tests", command: " " }] })).toContain("a name and a command");
  expect(settingsProblem({ ...good, budget: { ...budget, maxTurns: -3 } })).toContain("whole numbers above zero");
  expect(settingsProblem({ ...good, settings: { ...settings, stallThreshold: null } })).toContain("2 to 50");
  expect(settingsProblem({ ...good, settings: { ...settings, brakeTurns: 0 } })).toBe("");
});
