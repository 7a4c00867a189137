// Search results: their links, and each file once.
import { expect, test } from "vitest";
import type { Hit } from "../src/api/wire";
import { hitPlace, hitWords, joinedHits } from "../src/state/search";
import { entryAt, applyTranscript, emptyTranscript } from "../src/state/transcript";
import type { RunEvent } from "../src/api/wire";
import { marked } from "../src/ui/rank";

const hit = (seq: number, kind: Hit["kind"], excerpt: string): Hit => ({ kind, runId: "r", seq, ts: "", nodeId: "n", artifactId: "a", excerpt });

test("a place leads to the event, the artifact or the file of the diff", () => {
  expect(hitPlace(hit(7, "answer", "x"))).toEqual({ path: ["runs", "r", "n"], query: { seq: "7" } });
  expect(hitPlace(hit(7, "artifact", "x"))).toEqual({ path: ["runs", "r", "n"], query: { tab: "artifacts", artifact: "a" } });
  expect(hitPlace(hit(7, "file", "src/a.rs")).query).toEqual({ tab: "diffs", artifact: "a", file: "src/a.rs" });
  expect(hitPlace({ ...hit(7, "message", "x"), nodeId: null }).path).toEqual(["runs", "r"]);
  expect(hitWords({ ...hit(1, "file", "f"), further: 3 }, "my run")).toBe("File · my run · 3 more files in the diff");
});

test("pages are joined, and a file that many turns changed is listed once", () => {
  const first = [hit(9, "file", "a.rs"), hit(8, "answer", "x")];
  const joined = joinedHits(first, [hit(3, "file", "a.rs"), hit(2, "answer", "x"), hit(2, "file", "b.rs")]);
  expect(joined.map((one) => one.seq)).toEqual([9, 8, 2, 2]);
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
