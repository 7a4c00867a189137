// Markdown becomes a tree, and input never becomes HTML.
import { expect, test } from "vitest";
import { blocks, inlines } from "../src/ui/markdown";

test("the usual blocks are known", () => {
  const tree = blocks("# Title\n\nSome *words* and `code`.\n\n- one\n  - two\n- [x] three\n\n```rs\nfn x() {}\n```\n> said\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n---\n1. first\n2. second");
  expect(tree.map((block) => block.kind)).toEqual(["heading", "paragraph", "list", "code", "quote", "table", "rule", "list"]);
  const list = tree[2];
  expect(list?.kind === "list" && list.items.map((item) => item.checked)).toEqual([undefined, true]);
  expect(list?.kind === "list" && list.items[0]?.children.map((block) => block.kind)).toEqual(["paragraph", "list"]);
});

test("markup and odd addresses stay text", () => {
  const hostile = "<script>alert(1)</script> [x](javascript:alert(1)) <img src=x onerror=alert(1)>";
  expect(inlines(hostile)).toEqual([{ kind: "text", text: hostile }]);
});

test("emphasis, code and links", () => {
  expect(inlines("**a** _b_ `c` [d](https://example.org) snake_case_name")).toEqual([
    { kind: "strong", children: [{ kind: "text", text: "a" }] },
    { kind: "text", text: " " },
    { kind: "em", children: [{ kind: "text", text: "b" }] },
    { kind: "text", text: " " },
    { kind: "code", text: "c" },
    { kind: "text", text: " " },
    { kind: "link", href: "https://example.org", children: [{ kind: "text", text: "d" }] },
    { kind: "text", text: " snake_case_name" },
  ]);
});

test("text that is still coming is never lost", () => {
  const whole = "Here is **bold** and ```js\nlet x = 1;\n``` and [a link](https://x.y)";
  for (let end = 0; end <= whole.length; end += 1) expect(() => blocks(whole.slice(0, end))).not.toThrow();
  expect(blocks("```js\nlet x")).toEqual([{ kind: "code", language: "js", text: "let x" }]);
});

test("the time of hostile input grows linearly with its length", () => {
  const hostile = [
    "`",
    "` ",
    "``` `` ` x ",
    "`x``y```z",
    "*",
    "** ",
    "**a ",
    "*a **b ",
    "_a __b ",
    "~~a ",
    "[",
    "[a](",
    "[a](b",
    "[[a]",
    "\\",
    "https:",
    "https:.",
    "# #",
    "#  ",
    "| ",
    "|-",
    "> ",
    "- ",
    "\n\n> - ",
    " \t",
  ];
  const time = (text: string): number => {
    const started = process.cpuUsage();
    blocks(text);
    blocks(`# ${text}`);
    blocks(`x | y\n|${text}`);
    return process.cpuUsage(started).user / 1000;
  };
  for (const piece of hostile) {
    const text = piece.repeat(Math.ceil(65_536 / piece.length));
    expect(time(text), JSON.stringify(piece)).toBeLessThan(2_000);
  }
}, 60_000);

test("nested, unclosed and repeated marks keep their meaning", () => {
  const shown = (text: string): unknown => inlines(text);
  expect(shown("`` a`b ``")).toEqual([{ kind: "code", text: "a`b" }]);
  expect(shown("``no end")).toEqual([{ kind: "text", text: "``no end" }]);
  expect(shown("**a _b_ c**")).toEqual([
    {
      kind: "strong",
      children: [
        { kind: "text", text: "a " },
        { kind: "em", children: [{ kind: "text", text: "b" }] },
        { kind: "text", text: " c" },
      ],
    },
  ]);
  expect(shown("a * b * c ~~d~~ \\*e")).toEqual([
    { kind: "text", text: "a * b * c " },
    { kind: "strike", children: [{ kind: "text", text: "d" }] },
    { kind: "text", text: " *e" },
  ]);
  expect(blocks("## Title ##")).toEqual([{ kind: "heading", level: 2, children: [{ kind: "text", text: "Title" }] }]);
});
