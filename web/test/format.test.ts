import { expect, test } from "vitest";

import { short, shortId } from "../src/ui/format";

test("ids that were made together have different short forms", () => {
  expect(shortId("019a8c3e-5b1f-7d20-8a11-3f2e6c0d4e5f")).toBe("6c0d4e5f");
  expect(shortId("019a8c3e-5b1f-7d20-9b77-3f2e6c0d9a01")).toBe("6c0d9a01");
  expect(shortId("ab")).toBe("ab");
  expect(short("9f86d081884c7d65")).toBe("9f86d081");
});
