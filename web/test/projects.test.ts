import { describe, expect, it } from "vitest";
import type { Project, ProjectDefinition } from "../src/api/wire";
import { byNeed, changeTitle, decisions, definitionRows, folderName, projectMeaning } from "../src/state/projects";

const definition: ProjectDefinition = {
  gates: "strict",
  protected: [],
  checks: {
    tests: {
      run: "cargo test",
      timeout_seconds: 600,
      paths: [],
      proves: ["tests"],
      required: true,
      env: {},
      guard_count: true,
    },
    lint: {
      run: ["cargo", "clippy"],
      timeout_seconds: 90,
      paths: ["src/**"],
      proves: ["security"],
      required: false,
      clean: true,
      env: { A: "b" },
      guard_count: false,
    },
  },
};
const found = { definition, digest: "d" };
const project = (root: string, state: Project["state"]): Project => ({ root, state, changes: [] });

describe("projects", () => {
  it("says of each check what the one who accepts it has to know", () => {
    expect(definitionRows(definition)).toEqual([
      { name: "tests", command: "cargo test", facts: ["required of every task", "proves tests", "at most 10 min"] },
      {
        name: "lint",
        command: "cargo clippy",
        facts: [
          "proves security",
          "at most 90 s",
          "in a clean checkout",
          "depends on src/**",
          "A=b",
          "may lose tests without a finding",
        ],
      },
    ]);
  });

  it("offers a decision only about a file that differs", () => {
    expect(decisions({ state: "changed", found })).toEqual(["accept", "keep"]);
    expect(decisions({ state: "declined", found })).toEqual(["accept"]);
    expect(decisions({ state: "accepted", found })).toEqual([]);
    expect(decisions({ state: "missing" })).toEqual([]);
  });

  it("lists those that wait for a person first", () => {
    const all = [project("/a", "accepted"), project("/c", "changed"), project("/b", "new")];
    expect(byNeed(all).map((one) => one.root)).toEqual(["/b", "/c", "/a"]);
  });

  it("names places and folders", () => {
    expect(changeTitle("checks.tests")).toBe("Check tests");
    expect(changeTitle("protect")).toBe("Protected files");
    expect(changeTitle("workspace")).toBe("Workspace");
    expect(folderName("/srv/acme/api/")).toBe("api");
    expect(folderName("/")).toBe("/");
    expect(projectMeaning({ state: "missing" })).toContain("muster init");
  });
});
