// Positions in the graph.
import { expect, test } from "vitest";
import { settled } from "../src/state/layout";

test("a node that is added does not move the others", () => {
  const known = { a: { x: 0, y: 0 }, b: { x: 900, y: 5 } };
  const wanted = { a: { x: -150, y: 0 }, b: { x: 150, y: 190 }, c: { x: 600, y: 190 } };
  expect(settled(known, wanted)).toEqual({ ...known, c: { x: 600, y: 190 } });
});

test("a new node goes below one that is in its place, and a removed one leaves its spot", () => {
  expect(settled({ a: { x: 0, y: 0 }, gone: { x: 0, y: 190 } }, { a: { x: 5, y: 5 }, b: { x: 10, y: 0 } })).toEqual({
    a: { x: 0, y: 0 },
    b: { x: 10, y: 190 },
  });
});
