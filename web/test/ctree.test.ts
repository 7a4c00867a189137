// The C-Tree reducer passes the vectors that the server's own reader passes.
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { parseExact } from "../src/api/exact";
import { applyCTree, hydrateCTree, NO_CTREE, section, summaryLine, taskRows, type CTree, type SectionName, type Summary } from "../src/state/ctree";
import { fields, type Fields } from "../src/state/text";

interface Vector {
  name: string;
  kind: "merge" | "tree";
  steps: Fields[];
  expected: unknown;
}

const file = new URL("../../tests/contracts/sessions/ctree_events.json", import.meta.url);
const { vectors } = parseExact(readFileSync(file, "utf8")) as { vectors: Vector[] };
const NAMES: SectionName[] = ["snapshot", "compiler", "collapse", "runner", "last_node"];

function sections(summary: Summary): Record<string, Fields | null> {
  return Object.fromEntries(NAMES.map((name) => [name, section(summary, name)]));
}

function shown(tree: CTree): unknown {
  const tasks = taskRows(tree).map((row) => {
    const own = sections(row.tree);
    return {
      id: row.id,
      status: row.status.value,
      ctree_node_id: row.node.value ?? null,
      ctree: Object.values(own).some((value) => value !== null) ? own : null,
      footer: summaryLine(row.tree) ?? summaryLine(tree.summary),
    };
  });
  return { summary: sections(tree.summary), summary_line: summaryLine(tree.summary), tasks };
}

describe("C-Tree events", () => {
  const merges = vectors.filter((vector) => vector.kind === "merge");
  test("all vectors are there", () => expect(merges.length).toBeGreaterThan(25));
  test.each(merges.map((vector) => [vector.name, vector] as const))("%s", (_, vector) => {
    const tree = vector.steps.reduce<CTree>((state, step) => {
      const answer = step["$hydrate"];
      return answer === undefined ? applyCTree(state, step) : hydrateCTree(state, fields(answer) ?? {});
    }, NO_CTREE);
    expect(shown(tree)).toEqual(vector.expected);
  });
});
