// The transcript reducer: order between text and tools, streaming, what changes later.
import { describe, expect, test } from "vitest";
import type { RunEvent } from "../src/api/wire";
import { applyTranscript, asRead, emptyTranscript, type Entry } from "../src/state/transcript";

let seq = 0;
const event = (type: string, rest: object = {}): RunEvent =>
  ({ id: "e", runId: "r", ts: "2026-01-01T00:00:00.000Z", seq: ++seq, type, nodeId: "n", turnId: "t", ...rest }) as unknown as RunEvent;
const started = (): RunEvent => event("turn.status", { status: "turn.started", consumed: [{ kind: "message", id: "m" }] });
const kinds = (entries: readonly Entry[]): string[] => entries.map((entry) => entry.kind);

describe("applyTranscript", () => {
  test("text and tools keep their order, and the final does not repeat it", () => {
    const transcript = applyTranscript(emptyTranscript("n"), [
      event("message.user", { message: { id: "m", role: "user", content: "go" } }),
      started(),
      event("message.assistant.delta", { delta: "I will " }),
      event("message.assistant.delta", { delta: "run it." }),
      event("tool.proposed", { tool: { id: "k", name: "command", args: {} } }),
      event("tool.started", { tool: { id: "k", name: "command", args: {} } }),
      event("tool.completed", { toolId: "k", result: { ok: true, output: "fine" } }),
      event("message.assistant.delta", { delta: "Done." }),
      event("message.assistant.final", { content: "I will run it.Done.", status: "final" }),
    ]);
    expect(kinds(transcript.entries)).toEqual(["message", "turn", "text", "tool", "text"]);
    expect(transcript.entries[0]).toMatchObject({ state: "taken" });
    expect(transcript.entries[2]).toMatchObject({ text: "I will run it.", open: false });
    expect(transcript.entries[3]).toMatchObject({ call: { state: "done", result: { output: "fine" } } });
  });

  test("a turn without pieces shows its final text", () => {
    const transcript = applyTranscript(emptyTranscript("n"), [started(), event("message.assistant.final", { content: "whole", status: "interrupted" })]);
    expect(transcript.entries.at(-1)).toMatchObject({ kind: "text", text: "whole", interrupted: true });
  });

  test("an approval is part of its tool, asked and answered", () => {
    const tool = { id: "k", name: "push", args: { to: "main" } };
    const asked = applyTranscript(emptyTranscript("n"), [
      event("tool.proposed", { tool }),
      event("approval.requested", { approvalId: "a", tool, kind: "tool", canModify: true }),
    ]);
    expect(asked.entries[0]).toMatchObject({ call: { state: "asking", approvalId: "a" } });
    const answered = applyTranscript(asked, [
      event("approval.resolved", { approvalId: "a", resolution: { status: "modified", by: "user" } }),
      event("tool.started", { tool: { ...tool, args: { to: "feature" } } }),
    ]);
    expect(answered.entries[0]).toMatchObject({ call: { state: "running", resolution: { status: "modified" }, tool: { args: { to: "feature" } } } });
  });

  test("events come once, and those of other nodes not at all", () => {
    const hello = event("message.user", { message: { id: "x", role: "user", content: "hi" } });
    const other = event("message.user", { nodeId: "other", message: { id: "y", role: "user", content: "no" } });
    const once = applyTranscript(emptyTranscript("n"), [hello, other]);
    expect(applyTranscript(once, [hello])).toBe(once);
    expect(kinds(once.entries)).toEqual(["message"]);
  });

  test("a turn is one line, which knows how it ended; a failure has a line where it happened", () => {
    const done = applyTranscript(emptyTranscript("n"), [started(), event("turn.status", { status: "turn.completed" })]);
    expect(done.entries).toHaveLength(1);
    expect(done.entries[0]).toMatchObject({ kind: "turn", end: { status: "turn.completed" } });
    const failed = applyTranscript(emptyTranscript("n"), [started(), event("turn.status", { status: "turn.failed", reason: "exited" })]);
    expect(kinds(failed.entries)).toEqual(["turn", "turn"]);
  });

  test("a diff is shown only if it changes something, and after the answer", () => {
    const diff = (files: string[]) => event("artifact.created", { turnId: null, artifact: { id: "d", turnId: "t", kind: "diff", metadata: { filesChanged: files } } });
    const transcript = applyTranscript(emptyTranscript("n"), [
      started(),
      diff([]),
      diff(["a.rs"]),
      event("message.assistant.final", { content: "Done.", status: "final" }),
    ]);
    expect(kinds(transcript.entries)).toEqual(["turn", "text", "artifact"]);
  });

  test("a message that waited is read before the turn that took it, and not before", () => {
    const message = event("message.user", { message: { id: "m", role: "user", content: "go" } });
    const waiting = applyTranscript(emptyTranscript("n"), [message, event("message.assistant.final", { content: "Old.", status: "final" })]);
    expect(kinds(asRead(waiting.entries))).toEqual(["text"]);
    const taken = applyTranscript(waiting, [started()]);
    expect(kinds(asRead(taken.entries))).toEqual(["text", "message", "turn"]);
  });
});
