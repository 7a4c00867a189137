// Hidden characters are visible where a person decides.
import { expect, test } from "vitest";
import { visible } from "../src/ui/visible";

test("characters that reorder, hide or control are written out", () => {
  const hostile = "rm -rf \u202etxt\u2066.\u200bx\u00ad\u001b[2K\u{e0041}\u009b\t";
  const seen = "rm -rf \\u202etxt\\u2066.\\u200bx\\u00ad\\u001b[2K\\udb40\\udc41\\u009b\\u0009";
  expect(visible(hostile)).toBe(seen);
});

test("JSON means the same afterwards, and ordinary text stays as it is", () => {
  const args = { cmd: "echo \u202e\u{e0041} 日本 \u{1f600}" };
  expect(JSON.parse(visible(JSON.stringify(args, null, 2)))).toEqual(args);
  const plain = "two\nlines, über 日本 \u{1f600} 'a b'";
  expect(visible(plain)).toBe(plain);
});
