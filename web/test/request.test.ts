// Requests for permission, as a person judges them.
import { describe, expect, test } from "vitest";
import { asked, headline, inside, toolName, writtenPaths } from "../src/state/request";

const tool = (name: string, args: Record<string, unknown>) => ({ kind: "tool" as const, tool: { name, args } });
const kinds = (what: ReturnType<typeof asked>) =>
  what.kind === "files" ? what.files.map((file) => [file.path, file.change, file.added, file.removed]) : what.kind;

describe("a command", () => {
  test("is a shell line with its directory", () => {
    const call = tool("shell", { command: ["git", "commit", "-m", "it's done"], cwd: "/src" });
    expect(asked(call)).toEqual({ kind: "command", line: "git commit -m 'it'\\''s done'", directory: "/src" });
    expect(headline(tool("Bash", { command: "make\nmake test" }))).toBe("Run make ⏎ make test");
  });
});

describe("a change", () => {
  test("of a whole file is compared with the file", () => {
    const call = tool("Write", { file_path: "/p/a.txt", content: "one\ntwo\n" });
    expect(kinds(asked(call))).toEqual([["/p/a.txt", "write", 2, 0]]);
    expect(kinds(asked(call, new Map([["/p/a.txt", "one\nold\n"]])))).toEqual([["/p/a.txt", "write", 1, 1]]);
    expect(writtenPaths(call.tool.args)).toEqual(["/p/a.txt"]);
    expect(headline(call, "/p")).toBe("Write a.txt +2 −0");
  });

  test("of a part is the difference of both parts", () => {
    const edits = [
      { old_string: "a", new_string: "b" },
      { old_string: "c\nd", new_string: "c" },
    ];
    expect(kinds(asked(tool("MultiEdit", { file_path: "x.rs", edits })))).toEqual([["x.rs", "edit", 1, 2]]);
    expect(headline(tool("Edit", { file_path: "x.rs", ...edits[0] }))).toBe("Edit x.rs +1 −1");
  });

  test("as a patch is a diff, in each of its formats", () => {
    const patch = "*** Begin Patch\n*** Update File: a.ts\n@@\n-x\n+y\n z\n*** Add File: b.ts\n+new\n*** End Patch";
    const both = [
      ["a.ts", "edit", 1, 1],
      ["b.ts", "write", 1, 0],
    ];
    expect(kinds(asked(tool("apply_patch", { input: patch })))).toEqual(both);
    const git = "diff --git a/a.ts b/a.ts\n--- a/a.ts\n+++ b/a.ts\n@@ -1,2 +1,2 @@\n-x\n+y\n z\n";
    expect(kinds(asked(tool("patch", { diff: git })))).toEqual([["a.ts", "edit", 1, 1]]);
    const sql = tool("apply_patch", { input: "*** Begin Patch\n*** Update File: a.sql\n--- gone\n+++ come\n*** End Patch" });
    expect(kinds(asked(sql))).toEqual([["a.sql", "edit", 1, 1]]);
    const changes = [
      { path: "a.ts", kind: { type: "update" }, diff: "@@ -1 +1 @@\n-x\n+y" },
      { path: "b.ts", kind: { type: "add" }, diff: "new\n" },
    ];
    expect(kinds(asked(tool("apply_patch", { changes })))).toEqual(both);
    expect(headline(tool("apply_patch", { changes }))).toBe("Edit a.ts +1 −1 and 1 more");
  });
});

describe("anything else", () => {
  test("is named fields", () => {
    const call = tool("mcp__github__create_issue", { title: "Slow", labels: ["bug"] });
    expect(asked(call)).toEqual({
      kind: "fields",
      fields: [
        ["title", "Slow"],
        ["labels", '[\n  "bug"\n]'],
      ],
    });
    expect(headline(call)).toContain("github · create issue: title Slow");
  });

  test("two different requests have different lines", () => {
    expect(headline(tool("push", { to: "main" }))).not.toBe(headline(tool("push", { to: "next" })));
  });

  test("a new node is named", () => {
    const call = { kind: "spawn" as const, tool: { name: "spawn_node", args: { label: "Tester", role: "reviewer" } } };
    expect(headline(call)).toBe("Add the node Tester (reviewer)");
  });

  test("names of tools and paths are shortened", () => {
    expect(toolName("linear.create_issue")).toBe("linear · create issue");
    expect(inside("/p/a/b", "/p/a")).toBe("b");
    expect(inside("/other", "/p/a")).toBe("/other");
  });
});
