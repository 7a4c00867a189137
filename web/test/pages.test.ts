// Lists of a task that need more than one response, against a small fake server.
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { allEvidence, eventsBefore, operations } from "../src/views/work/pages";

const target = { workspace: "w", task: "TASK-001" };
let asked: { name: string; body: Record<string, unknown> }[] = [];
let answer: (name: string, body: Record<string, unknown>) => unknown;

beforeEach(() => {
  asked = [];
  vi.stubGlobal("fetch", async (url: string, init: { body: string }) => {
    const name = url.split("/").pop() ?? "";
    const body = JSON.parse(init.body) as Record<string, unknown>;
    asked.push({ name, body });
    return new Response(JSON.stringify({ result: answer(name, body) }), { status: 200 });
  });
});
afterEach(() => vi.unstubAllGlobals());

test("evidence is read to its end and listed newest first", async () => {
  const ids = Array.from({ length: 2500 }, (_, at) => ({ evidence_id: `EV-${at + 1}` }));
  answer = (_, body) => {
    const from = Number(body["cursor"] ?? 0);
    const evidence = ids.slice(from, from + 1000);
    const has_more = from + 1000 < ids.length;
    return { evidence, pagination: { has_more, ...(has_more ? { next_cursor: String(from + 1000) } : {}) } };
  };
  const all = await allEvidence(target);
  expect([all.length, all[0]?.evidence_id, all.at(-1)?.evidence_id]).toEqual([2500, "EV-2500", "EV-1"]);
  expect(asked.length).toBe(3);
});

test("operations come page by page until there are as many as wanted", async () => {
  const total = 1700;
  answer = (_, body) => {
    const below = Number(body["cursor"] ?? total + 1);
    const count = Math.min(Number(body["limit"]), below - 1);
    const rows = Array.from({ length: count }, (_, at) => ({ seq: below - 1 - at }));
    const last = rows.at(-1)?.seq ?? 1;
    return { operations: rows, pagination: { has_more: last > 1, next_cursor: last } };
  };
  const some = await operations(target, 1500);
  expect([some.rows.length, some.more, some.rows[0]?.seq]).toEqual([1500, true, 1700]);
  const all = await operations(target, 5000);
  expect([all.rows.length, all.more, new Set(all.rows.map((row) => row.seq)).size]).toEqual([1700, false, 1700]);
});

test("older events are found however far back they are, and all of them", async () => {
  const known = [3, 4, 90_000, 99_000, 99_001];
  answer = (_, body) => {
    const events = known.filter((seq) => seq > Number(body["since"])).map((seq) => ({ seq }));
    return { events, has_more: false };
  };
  const seqs: number[] = [];
  for (let before = 99_001; ; ) {
    const older = await eventsBefore(target, before);
    if (older.length === 0) break;
    seqs.unshift(...older.map((event) => event.seq));
    before = older[0]!.seq;
  }
  expect(seqs).toEqual([3, 4, 90_000, 99_000]);
});
