// Patches become files, hunks and lines with the right numbers.
import { expect, test } from "vitest";
import { diffRows, parseDiff } from "../src/state/diff";

const PATCH = `diff --git a/src/a.rs b/src/a.rs
index 1..2 100644
--- a/src/a.rs
+++ b/src/a.rs
@@ -1,3 +1,4 @@ fn main() {
 same
-old
+new
+more
 end
\\ No newline at end of file
diff --git a/x.txt b/y.txt
similarity index 100%
rename from x.txt
rename to y.txt
diff --git a/new.md b/new.md
new file mode 100644
--- /dev/null
+++ b/new.md
@@ -0,0 +1 @@
+hello
diff --git a/p.png b/p.png
Binary files a/p.png and b/p.png differ
diff --git a/gone.c b/gone.c
deleted file mode 100644
--- a/gone.c
+++ /dev/null
@@ -1 +0,0 @@
-int x;
`;

test("every kind of change is recognised", () => {
  const files = parseDiff(PATCH);
  expect(files.map((file) => [file.path, file.change, file.added, file.removed, file.binary])).toEqual([
    ["src/a.rs", "changed", 2, 1, false],
    ["y.txt", "renamed", 0, 0, false],
    ["new.md", "added", 1, 0, false],
    ["p.png", "changed", 0, 0, true],
    ["gone.c", "removed", 0, 1, false],
  ]);
  expect(files[0]?.hunks[0]?.lines.map((line) => [line.old, line.new])).toEqual([[1, 1], [2, null], [null, 2], [null, 3], [3, 4]]);
});

test("side by side pairs what was with what is", () => {
  const rows = diffRows(parseDiff(PATCH).slice(0, 1), new Set(), "split").filter((row) => row.kind === "line");
  expect(rows.map((row) => [row.left?.text, row.right?.text])).toEqual([["same", "same"], ["old", "new"], [undefined, "more"], ["end", "end"]]);
});

test("a folded file is one row, and no changes give no rows", () => {
  expect(diffRows(parseDiff(PATCH), new Set(["src/a.rs", "new.md", "gone.c"]), "unified")).toHaveLength(5);
  expect(parseDiff("no changes\n")).toEqual([]);
});
