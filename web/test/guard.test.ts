// Keys cannot answer what a person has not seen.
import { expect, test } from "vitest";
import { answered, chosen, CLOSED, GUARD_MS, mayAnswer, opened } from "../src/state/guard";

test("a key answers only the item that has been open for a moment", () => {
  const guard = opened(CLOSED, "a", 1000);
  expect(mayAnswer(guard, "a", 1000 + GUARD_MS - 1)).toBe(false);
  expect(mayAnswer(guard, "a", 1000 + GUARD_MS)).toBe(true);
  expect(mayAnswer(guard, "b", 5000)).toBe(false);
});

test("the next item needs its own moment, also right after an answer", () => {
  const first = opened(CLOSED, "a", 0);
  expect(opened(first, "a", 900)).toBe(first);
  expect(mayAnswer(answered(first, 1000), "a", 1100)).toBe(false);
  const next = opened(answered(first, 1000), "b", 1200);
  expect(mayAnswer(next, "b", 1700)).toBe(false);
  expect(mayAnswer(next, "b", 1800)).toBe(true);
});

test("what the person opened can be answered at once, except right after an answer", () => {
  const first = opened(CLOSED, "a", 0);
  expect(mayAnswer(chosen(first, "b"), "b", 1000)).toBe(true);
  expect(mayAnswer(chosen(answered(first, 1000), "b"), "b", 1100)).toBe(false);
});
