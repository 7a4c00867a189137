// Search results: their groups, places and links.
import { expect, test } from "vitest";
import type { FindAnswer, FoundItem, RunEvent } from "../src/api/wire";
import { foundGroups, foundKey, foundNote, foundPlace, foundWhere, joinedAnswers } from "../src/state/search";
import { entryAt, applyTranscript, emptyTranscript } from "../src/state/transcript";
import { marked } from "../src/ui/rank";

const hit = (kind: FoundItem["kind"], id: string, place: FoundItem["place"] = {}, rest: Partial<FoundItem> = {}): FoundItem => ({
  kind,
  id,
  title: id,
  matched: "title",
  place,
  ...rest,
});
const answer = (hits: FoundItem[], rest: Partial<FindAnswer> = {}): FindAnswer => ({ hits, cut: [], unsearched: 0, ...rest });
const inTask = { workspace: "acme", planId: "PLAN-001", planTitle: "Ship", taskId: "TASK-002", taskTitle: "Pay" };
const inRun = { runId: "r", runName: "First run", nodeId: "n", nodeLabel: "Worker", seq: 7, artifactId: "a" };

test("a result leads to where it is", () => {
  expect(foundPlace(hit("task", "TASK-002", inTask))).toEqual({ path: ["work", "acme", "TASK-002"], query: {} });
  expect(foundPlace(hit("step", "s:0.1", inTask))).toEqual({ path: ["work", "acme", "TASK-002"], query: { step: "s:0.1" } });
  expect(foundPlace(hit("note", "9", { ...inTask, step: "s:3" })).query).toEqual({ step: "s:3" });
  expect(foundPlace(hit("session", "x"))).toEqual({ path: ["sessions", "x"], query: {} });
  expect(foundPlace(hit("run", "r", { runId: "r" })).path).toEqual(["runs", "r"]);
  expect(foundPlace(hit("message", "7", inRun))).toEqual({ path: ["runs", "r", "n"], query: { seq: "7" } });
  expect(foundPlace(hit("artifact", "a", inRun)).query).toEqual({ tab: "artifacts", artifact: "a" });
  expect(foundPlace(hit("file", "src/a.rs", inRun)).query).toEqual({ tab: "diffs", artifact: "a", file: "src/a.rs" });
});

test("a result says where it is, from the outside in", () => {
  expect(foundWhere(hit("step", "s:0", inTask, { status: "TODO" }))).toBe("s:0 · todo · acme › Ship › Pay");
  expect(foundWhere(hit("task", "TASK-002", inTask))).toBe("TASK-002 · acme › Ship");
  expect(foundWhere(hit("message", "7", inRun, { said: "answer" }))).toBe("Answer · First run › Worker");
});

test("results are grouped by kind, the kind of the best one first", () => {
  const groups = foundGroups([hit("step", "s:0", inTask), hit("task", "TASK-002", inTask), hit("step", "s:1", inTask)]);
  expect(groups.map((group) => [group.name, group.items.length])).toEqual([["Steps", 2], ["Tasks", 1]]);
});

test("results of the current run come first, and nothing comes twice", () => {
  const here = answer([hit("message", "7", inRun)], { cut: ["message"] });
  const all = answer([hit("task", "TASK-002", inTask), hit("message", "7", inRun)]);
  const joined = joinedAnswers(here, all);
  expect(joined.hits.map(foundKey)).toEqual(["message r 7", "task acme TASK-002 TASK-002"]);
  expect(foundNote(joined)).toBe("There may be more messages: add words to narrow it.");
  expect(foundNote(answer([]))).toBe("Nothing in the store contains all these words.");
  expect(foundNote(answer([], { unsearched: 1200 }))).toBe("1,200 older events could not be searched yet.");
});

test("a number finds the entry that it completed, not the one after it", () => {
  const event = (seq: number, type: string, rest: object): RunEvent => ({ id: "e", runId: "r", ts: "t", seq, type, nodeId: "n", turnId: "t", ...rest }) as unknown as RunEvent;
  const { entries } = applyTranscript(emptyTranscript("n"), [
    event(1, "message.assistant.delta", { delta: "Hel" }),
    event(2, "message.assistant.delta", { delta: "lo" }),
    event(3, "message.assistant.final", { content: "Hello", status: "final" }),
    event(5, "node.reset", { method: "command", reason: null }),
  ]);
  expect(entryAt(entries, 3)?.seq).toBe(1);
  expect(entryAt(entries, 4)?.seq).toBe(5);
  expect(entryAt(entries, 6)).toBeUndefined();
});

test("words are marked where they occur, whatever characters they contain", () => {
  expect(marked("Look at a.b(c)", "A.B( look")).toEqual([
    { text: "Look", fits: true },
    { text: " at ", fits: false },
    { text: "a.b(", fits: true },
    { text: "c)", fits: false },
  ]);
  expect(marked("plain", "")).toEqual([{ text: "plain", fits: false }]);
});
