// Events of a session become rows: pieces join, results find their calls.
import { describe, expect, test } from "vitest";
import type { SessionEvent } from "../src/api/wire";
import { applyConversation, NO_CONVERSATION, type Conversation } from "../src/state/conversation";
import { treeRows, type TreeNode } from "../src/state/tree_rows";

let seq = 0;
function event(type: string, data: Record<string, unknown>, more: Partial<SessionEvent> = {}): SessionEvent {
  seq += 1;
  const body = data as SessionEvent["data"];
  return {
    id: `ev-${seq}`,
    seq,
    timestamp_ms: seq,
    timestamp: seq,
    type,
    session_id: "s",
    protocol_version: "1.0",
    data: body,
    payload: body,
    ...more,
  };
}

function told(...events: SessionEvent[]): Conversation {
  seq = 0;
  return applyConversation(NO_CONVERSATION, events);
}

describe("a transcript", () => {
  test("the completion of a turn and the lease of a host are not rows", () => {
    const summary = { completed: true, reason: "completed", status: "completed" };
    const rows = told(
      event("session.driver", { host: "editor", expires_at_ms: 1 }),
      event("turn_start", { turn: 1 }, { turn: 1 }),
      event("turn_end", { turn: 1, status: "completed" }, { turn: 1 }),
      event("completion", { turn: 1, summary }, { turn: 1 }),
      event("completion", { summary: { completed: true, reason: "all done" } }),
    ).rows;
    expect(rows).toMatchObject([
      { kind: "turn", ended: "completed" },
      { kind: "line", title: "completion", text: "all done" },
    ]);
  });

  test("chunks of one message are one row, and the finished text replaces them", () => {
    const pieces = told(
      event("assistant_delta", { message_id: "m", text: "Hel" }),
      event("assistant_delta", { message_id: "m", text: "lo" }),
    );
    expect(pieces.rows).toMatchObject([{ kind: "message", text: "Hello", streaming: true }]);
    const finished = applyConversation(pieces, [event("assistant_message", { message_id: "m", text: "Hello!" })]);
    expect(finished.rows).toMatchObject([{ text: "Hello!", streaming: false }]);
    expect(pieces.rows).toMatchObject([{ text: "Hello" }]);
  });

  test("a result finds its call, also over a batch and with others between", () => {
    const calls = told(
      event("tool_call", { call_id: "a", tool: "shell", call: { name: "shell", arguments: { command: "ls" } } }),
      event("tool_call", { call_id: "b", tool: "read" }),
    );
    const done = applyConversation(calls, [
      event("tool_result", { call_id: "a", tool: "shell", status: "error", error: true, message: "no" }),
    ]);
    expect(done.rows).toMatchObject([
      { name: "shell", status: "error", output: "no", input: { command: "ls" } },
      { name: "read", status: "running" },
    ]);
  });

  test("turns end, tasks change, requests are answered in place", () => {
    const { rows } = told(
      event("turn_start", { turn: 1 }, { turn: 1 }),
      event("task_event", { task_id: "t", kind: "task_spawned", status: "running", description: "Look" }),
      event("permission_request", { request_id: "p", tool: "shell" }),
      event("task_event", { task_id: "t", status: "completed" }),
      event("permission_response", { request_id: "p", decision: "allow-once" }),
      event("turn_end", { turn: 1, status: "completed" }, { turn: 1 }),
    );
    expect(rows).toMatchObject([
      { ended: "completed" },
      { title: "Look", status: "completed" },
      { decision: "allow-once" },
    ]);
  });

  test("tree events and stream-only events are not rows, unknown types are", () => {
    const only = { ...event("tool_result", { tool: "todo" }) };
    delete only.seq;
    const { rows } = told(event("ctree_node", {}), event("something.new", { message: "hm" }), only);
    expect(rows).toMatchObject([{ kind: "line", title: "something new", text: "hm" }]);
  });

  test("a transcript that does not begin at the first event is marked as cut", () => {
    expect(told(event("user_message", { text: "a" })).cut).toBe(false);
    const later = { ...event("user_message", { text: "b" }), seq: 40 };
    expect(applyConversation(NO_CONVERSATION, [later]).cut).toBe(true);
  });
});

describe("lines of a tree", () => {
  const node = (id: string, parent: string | null, at: number): TreeNode =>
    ({ id, parent_id: parent, seq: at }) as TreeNode;
  const nodes = [node("r", null, 1), node("b", "r", 5), node("a", "r", 2), node("c", "a", 3)];

  test("children follow their parent in the order of their numbers", () => {
    expect(treeRows(nodes, new Set()).map((row) => [row.node.id, row.level])).toEqual([
      ["r", 0],
      ["a", 1],
      ["c", 2],
      ["b", 1],
    ]);
  });

  test("children of folded nodes are left out", () => {
    expect(treeRows(nodes, new Set(["a"])).map((row) => row.node.id)).toEqual(["r", "a", "b"]);
  });
});
