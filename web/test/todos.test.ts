// The todo reducer passes the vectors that the server's own reader passes.
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { parseExact } from "../src/api/exact";
import { applyTodos, counts, NO_TODOS, preview, reconnected, type TodoItem, type Todos } from "../src/state/todos";
import type { Fields } from "../src/state/text";

interface Vector {
  name: string;
  kind: "reduce" | "preview";
  steps: Fields[];
  checkpoints?: { after: number; state: unknown }[];
  expected: unknown;
  items: TodoItem[];
  strategy: "first_n" | "incomplete_first" | "active_first";
  max_rows: number;
  scope: { key: string; label: string; stale: boolean };
}

const file = new URL("../../tests/contracts/sessions/todo_events.json", import.meta.url);
const { vectors } = parseExact(readFileSync(file, "utf8")) as { vectors: Vector[] };

function step(state: Todos, one: Fields): Todos {
  const how = one["$reconnect"];
  return how === "gap" || how === "gapless" ? reconnected(state, how) : applyTodos(state, one);
}

function shown(state: Todos): unknown {
  const scope = (key: string): [string, unknown] => {
    const found = state.scopes[key]!;
    const revision = found.revision === null ? null : plain(found.revision);
    return [key, { label: found.label, revision, stale: found.stale, items: found.items, counts: counts(found) }];
  };
  return { scope_order: state.order, scopes: Object.fromEntries(state.order.map(scope)) };
}

/** Numbers are equal whatever type holds them. */
function plain(value: bigint): bigint | number {
  return Number.isSafeInteger(Number(value)) ? Number(value) : value;
}

/** Compares with a vector in which some ids are only required to be equal or different. */
class Opaque {
  #ids = new Map<string, string>();

  resolve(expected: unknown, actual: unknown): unknown {
    if (Array.isArray(expected)) {
      return expected.map((value, at) => this.resolve(value, Array.isArray(actual) ? actual[at] : undefined));
    }
    if (expected === null || typeof expected !== "object") return expected;
    const marked = expected as { $opaque?: boolean; as?: string };
    if (marked.$opaque) {
      if (typeof actual !== "string" || actual === "") return "a string";
      const known = marked.as === undefined ? undefined : this.#ids.get(marked.as);
      if (marked.as !== undefined && known === undefined) {
        if ([...this.#ids.values()].includes(actual)) return "an id of its own";
        this.#ids.set(marked.as, actual);
      }
      return known ?? actual;
    }
    const other = (actual ?? {}) as Record<string, unknown>;
    return Object.fromEntries(Object.entries(expected).map(([key, value]) => [key, this.resolve(value, other[key])]));
  }
}

describe("todo events", () => {
  test("all vectors are there", () => expect(vectors.length).toBeGreaterThan(100));
  test.each(vectors.filter((vector) => vector.kind === "reduce").map((vector) => [vector.name, vector] as const))("%s", (_, vector) => {
    const states = vector.steps.reduce<Todos[]>((all, one) => [...all, step(all.at(-1)!, one)], [NO_TODOS]);
    const opaque = new Opaque();
    for (const { after, state } of vector.checkpoints ?? []) {
      const actual = shown(states[after]!);
      expect(actual).toEqual(opaque.resolve(state, actual));
    }
    const actual = shown(states.at(-1)!);
    expect(actual).toEqual(opaque.resolve(vector.expected, actual));
  });
  test.each(vectors.filter((vector) => vector.kind === "preview").map((vector) => [vector.name, vector] as const))("%s", (_, vector) => {
    const { visible, hidden, header } = preview(vector.items, vector.strategy, vector.max_rows, vector.scope);
    expect({ visible_ids: visible.map((item) => item.id), hidden, header }).toEqual(vector.expected);
  });
});
