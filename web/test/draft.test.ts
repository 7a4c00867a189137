// What a person types for work: lists that are pasted, lines, problems.
import { describe, expect, test } from "vitest";
import { checklist, emptyStep, linesOf, problems, refusedField, stepInput, tagsOf } from "../src/state/draft";

describe("a pasted checklist", () => {
  test("becomes steps with criteria, tests and checks", () => {
    const text = [
      "- [ ] Write the **parser**",
      "  - handles empty input",
      "  - test: npm test parser",
      "- [x] Document [it](https://example.org)",
      "    * Done when: the page is linked",
      "    * checks: lint, tests",
    ].join("\n");
    expect(checklist(text)).toEqual([
      { ...emptyStep("Write the parser"), criteria: "handles empty input", tests: "npm test parser" },
      { ...emptyStep("Document it"), criteria: "the page is linked", checks: ["lint", "tests"] },
    ]);
  });

  test("may be numbered and indented as a whole", () => {
    expect(checklist("  1. One\n  2) Two\n")?.map((step) => step.title)).toEqual(["One", "Two"]);
  });

  test("is not made of prose or of a single line", () => {
    expect(checklist("- one line")).toBeUndefined();
    expect(checklist("Some words\n- and a list")).toBeUndefined();
  });
});

test("lines lose bullets and blanks", () => {
  expect(linesOf("- a\n\n  2. b\n[ ] c\nd - e\n3.5 s at most")).toEqual(["a", "b", "c", "d - e", "3.5 s at most"]);
});

test("a step is sent without empty fields", () => {
  expect(stepInput({ ...emptyStep(" One "), criteria: "x\n\ny", checks: ["lint"] })).toEqual({
    title: "One",
    success_criteria: ["x", "y"],
    tests: [],
    checks: ["lint"],
  });
});

test("problems name their field", () => {
  expect(problems({ title: " ", tags: "a, b a" }, [emptyStep("x"), emptyStep()])).toEqual({
    title: "Enter a title.",
    "steps.1.title": "Enter a title.",
  });
  expect(tagsOf("a, b a")).toEqual(["a", "b"]);
  expect(problems({ title: "t", tags: "x".repeat(101) }, [])["tags"]).toContain("100 characters");
});

test("a refusal is shown at the field that it names", () => {
  expect(refusedField("steps[2].success_criteria[0]")).toBe("steps.2.criteria");
  expect(refusedField("tags[3]")).toBe("tags");
  expect(refusedField("workspace")).toBe("");
  expect(refusedField("")).toBe("");
});
