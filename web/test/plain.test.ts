import { expect, it } from "vitest";
import { plain } from "../src/ui/plain";

it("shows what a terminal would, without its sequences", () => {
  expect(plain("\u001b[32mok\u001b[0m\r\n")).toBe("ok\n");
  expect(plain("10 %\r50 %\r100 %\ndone")).toBe("100 %\ndone");
  expect(plain("\u001b]0;title\u0007a\tb")).toBe("a    b");
});
