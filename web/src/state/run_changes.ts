// The files that a run changed, gathered from the diffs of its turns: who changed what, and when.
import type { Artifact, ChangedDirectory, NetFile, Node } from "../api/wire";

/** One turn that changed a file. */
export interface FileTouch {
  readonly artifact: Artifact;
  readonly node: string;
}

export interface RunFile {
  readonly path: string;
  /** Oldest first. */
  readonly touches: readonly FileTouch[];
}

/** The changed files by path; each lists the turns that changed it, oldest first. */
export function runFiles(diffs: readonly Artifact[]): RunFile[] {
  const files = new Map<string, FileTouch[]>();
  for (const artifact of [...diffs].sort((a, b) => a.number - b.number)) {
    for (const path of artifact.metadata.filesChanged ?? []) {
      files.set(path, [...(files.get(path) ?? []), { artifact, node: artifact.nodeId }]);
    }
  }
  return [...files].map(([path, touches]) => ({ path, touches })).sort((a, b) => a.path.localeCompare(b.path));
}

/** What each node changed, in lines and files. */
export interface NodeChanges {
  readonly files: number;
  readonly added: number;
  readonly removed: number;
}

export function changesByNode(diffs: readonly Artifact[]): Map<string, NodeChanges> {
  const paths = new Map<string, Set<string>>();
  const found = new Map<string, NodeChanges>();
  for (const { nodeId, metadata } of diffs) {
    const own = paths.get(nodeId) ?? new Set<string>();
    for (const path of metadata.filesChanged ?? []) own.add(path);
    paths.set(nodeId, own);
    const before = found.get(nodeId) ?? { files: 0, added: 0, removed: 0 };
    found.set(nodeId, {
      files: own.size,
      added: before.added + (metadata.insertions ?? 0),
      removed: before.removed + (metadata.deletions ?? 0),
    });
  }
  return found;
}

/** A file that was looked at is not viewed any more once another turn changes it. */
export const touchMark = (file: RunFile): string => `${file.path} ${file.touches.at(-1)?.artifact.id ?? ""}`;

/** The same for a file against the start, which may also change between turns. */
export function netMark({ nodeId }: ChangedDirectory, { path, touches, insertions, deletions }: NetFile): string {
  return [nodeId ?? "", path, touches.at(-1)?.turnId ?? "", insertions, deletions].join(" ");
}

/** A row of a tree: a folder, or a file. */
export interface Folder<T> {
  readonly name: string;
  readonly path: string;
  readonly depth: number;
  readonly file?: T;
}

/** Files as the rows of a tree: each folder once, before what is in it. */
export function fileTree<T extends { readonly path: string }>(files: readonly T[]): Folder<T>[] {
  const rows: Folder<T>[] = [];
  let open: string[] = [];
  for (const file of files) {
    const parts = file.path.split("/");
    const folders = parts.slice(0, -1);
    const shared = folders.findIndex((part, at) => part !== open[at]);
    const from = shared < 0 ? folders.length : shared;
    for (let at = from; at < folders.length; at += 1) {
      rows.push({ name: folders[at]!, path: folders.slice(0, at + 1).join("/"), depth: at });
    }
    open = folders;
    rows.push({ name: parts.at(-1)!, path: file.path, depth: folders.length, file });
  }
  return rows;
}

/** What a person writes about a line of a file, as a message to the node that changed it. */
export function lineComment(path: string, line: number, code: string, words: string): string {
  return `About ${path}, line ${line}:\n\n    ${code.trim()}\n\n${words.trim()}`;
}

/** What a node does now, in a few words. */
export function nowDoing(node: Node, tail: string): string {
  const active = node.todos.find((todo) => todo.status === "in_progress");
  if (node.blockedReason) return node.blockedReason.message;
  if (node.turn) return active?.activeForm ?? (node.summary || tail || "works");
  if (node.waitingFor) return node.waitingFor.note ?? "waits for other nodes";
  return node.held ? "stopped" : node.summary || "idle";
}
