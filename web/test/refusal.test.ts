// What a person reads when the server refuses something.
import { expect, test } from "vitest";
import { refusalWords } from "../src/api/refusal";

const words = (code: string, message: string, facts = {}) => {
  const said = refusalWords(code, message, "Call tasks_something again.", facts);
  return `${said.message} | ${said.hint}`;
};

test("a refusal never names the tools of agents", () => {
  const codes = ["INVALID_INPUT", "UNKNOWN_ID", "PROOF_REQUIRED", "CHECK_REQUIRED", "CHECK_UNTRUSTED", "PERSON_REQUIRED"];
  for (const code of codes) expect(words(code, "no")).not.toContain("tasks_");
});

test("a version that is too old is told without numbers", () => {
  expect(words("REVISION_MISMATCH", "expected=3 actual=4", { id: "TASK-001", path: "s:0" })).toBe(
    "s:0 of TASK-001 was changed in the meantime | The current version is shown: check it, then try again.",
  );
});

test("a wrong field has the name that its form shows", () => {
  const facts = { argument: "steps[1].success_criteria[0]", expected: "a text", reason: "bad_format" };
  expect(words("INVALID_INPUT", "steps[1]: expected a text", facts)).toBe("step 2, criteria: expected a text | ");
  const title = { argument: "title", expected: "1 to 500 characters", reason: "out_of_range" };
  expect(words("INVALID_INPUT", "x", title)).toBe("title: expected 1 to 500 characters | ");
});

test("what contradicts the rest keeps the server's reason", () => {
  const facts = { argument: "depends_on", expected: "arguments that agree", reason: "conflict" };
  expect(words("INVALID_INPUT", "TASK-001 cannot depend on itself", facts)).toBe("TASK-001 cannot depend on itself | ");
});

test("an error of the store keeps the server's advice", () => {
  expect(refusalWords("STORE_BUSY", "the store is busy", "Try again.", {}).hint).toBe("Try again.");
});
