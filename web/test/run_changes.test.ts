// The files that a run changed.
import { expect, test } from "vitest";
import type { Artifact, ChangedDirectory, NetFile } from "../src/api/wire";
import { changesByNode, fileTree, lineComment, netMark, runFiles, touchMark } from "../src/state/run_changes";

const diff = (number: number, nodeId: string, filesChanged: string[], insertions = 1) =>
  ({ id: `d${number}`, number, nodeId, metadata: { filesChanged, insertions, deletions: 1 } }) as unknown as Artifact;
const diffs = [diff(3, "b", ["src/a.rs"]), diff(1, "a", ["src/a.rs", "src/deep/b.rs"], 4), diff(2, "a", ["README.md"])];

test("a file lists the turns that changed it, oldest first", () => {
  const files = runFiles(diffs);
  expect(files.map((file) => file.path)).toEqual(["README.md", "src/a.rs", "src/deep/b.rs"]);
  expect(files[1]?.touches.map((touch) => [touch.node, touch.artifact.number])).toEqual([
    ["a", 1],
    ["b", 3],
  ]);
});

test("what a node changed is counted once per file", () => {
  expect(changesByNode(diffs).get("a")).toEqual({ files: 3, added: 5, removed: 2 });
});

test("a tree names each folder once", () => {
  expect(fileTree(runFiles(diffs)).map((row) => [row.depth, row.name])).toEqual([
    [0, "README.md"],
    [0, "src"],
    [1, "a.rs"],
    [1, "deep"],
    [2, "b.rs"],
  ]);
});

test("a comment on a line says where it is", () => {
  expect(lineComment("a.rs", 7, "  let x = 1;", "Why one?")).toBe("About a.rs, line 7:\n\n    let x = 1;\n\nWhy one?");
});

test("a file that changes again is not viewed any more", () => {
  const file = runFiles(diffs)[1]!;
  expect(touchMark(file)).not.toBe(touchMark({ ...file, touches: file.touches.slice(0, 1) }));
  const net = { path: "a.rs", touches: [{ turnId: "t1" }], insertions: 1, deletions: 0 } as unknown as NetFile;
  const folder = { nodeId: null } as unknown as ChangedDirectory;
  expect(netMark(folder, net)).not.toBe(netMark(folder, { ...net, insertions: 2 }));
  expect(netMark(folder, net)).not.toBe(netMark({ ...folder, nodeId: "n" } as ChangedDirectory, net));
});
