// The visible nodes of a C-Tree as lines.
import type { TreePage } from "../api/wire";

export type TreeNode = TreePage["nodes"][number];

export interface TreeRow {
  node: TreeNode;
  level: number;
  /** Whether it has children. */
  parent: boolean;
}

/** Lines depth-first, children in the order of their numbers; children of folded nodes are left out. */
export function treeRows(nodes: readonly TreeNode[], folded: ReadonlySet<string>): TreeRow[] {
  const below = new Map<string, TreeNode[]>();
  const known = new Set(nodes.map((node) => node.id));
  const roots: TreeNode[] = [];
  for (const node of nodes) {
    // A page may start in the middle of the tree: a node whose parent is missing becomes a top-level line.
    if (node.parent_id === null || !known.has(node.parent_id)) roots.push(node);
    else if (below.has(node.parent_id)) below.get(node.parent_id)?.push(node);
    else below.set(node.parent_id, [node]);
  }
  const rows: TreeRow[] = [];
  const waiting = roots.map((node) => ({ node, level: 0 })).reverse();
  for (let next = waiting.pop(); next; next = waiting.pop()) {
    const { node, level } = next;
    const children = below.get(node.id) ?? [];
    rows.push({ node, level, parent: children.length > 0 });
    if (folded.has(node.id)) continue;
    waiting.push(
      ...children
        .sort((a, b) => a.seq - b.seq)
        .map((child) => ({ node: child, level: level + 1 }))
        .reverse(),
    );
  }
  return rows;
}
