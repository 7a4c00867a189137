// Rules in words.
import { expect, test } from "vitest";
import { ruleWords } from "../src/state/rules";

test("what a rule names is taken out whole, with backticks and line ends of its own", () => {
  expect(ruleWords("calls of the tool `close_issue` with any arguments")).toEqual({
    before: "calls of the tool ",
    named: "close_issue",
    after: " with any arguments",
  });
  expect(ruleWords("exactly the command `echo `date`\nls`").named).toBe("echo `date`\nls");
  expect(ruleWords("everything")).toEqual({ before: "everything", named: "", after: "" });
});
