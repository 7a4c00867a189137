// The conversation with one node in order: messages, text, thoughts, tools,
// handoffs and turns, each once, folded from the node's events.
import type { Artifact, Envelope, EventOf, Message, RunEvent, Tool, ToolResult } from "../api/wire";

import { settingWord } from "./words";

interface Common {
  readonly key: string;
  readonly seq: number;
  /** The event that completed it, if that is another one. */
  readonly until?: number;
  readonly at: string;
  readonly turnId: string | null;
}

export type Entry =
  | (Common & {
      readonly kind: "message";
      readonly message: Message;
      readonly state: MessageState;
      /** The event of the turn that took it. */
      readonly takenAt?: number;
    })
  | (Common & { readonly kind: "text"; readonly text: string; readonly open: boolean; readonly interrupted: boolean })
  | (Common & { readonly kind: "thought"; readonly text: string; readonly open: boolean })
  | (Common & { readonly kind: "tool"; readonly call: ToolCall })
  | (Common & { readonly kind: "handoff"; readonly envelope: Envelope; readonly incoming: boolean })
  | (Common & {
      readonly kind: "turn";
      readonly event: EventOf<"turn.status">;
      /** How it ended, once it has. */
      readonly end?: EventOf<"turn.status">;
    })
  | (Common & { readonly kind: "artifact"; readonly artifact: Artifact })
  | (Common & { readonly kind: "note"; readonly text: string; readonly tone: "plain" | "failed" });

/** The state of a message: queued, taken by a turn, removed, or its turns failed. */
export type MessageState = "queued" | "taken" | "failed" | "removed";

export interface ToolCall {
  readonly tool: Tool;
  readonly state: "proposed" | "asking" | "running" | "done" | "failed";
  readonly startedAt: string;
  readonly approvalId?: string;
  readonly resolution?: EventOf<"approval.resolved">["resolution"];
  readonly result?: ToolResult;
  readonly error?: { message: string; code?: string | null };
}

export interface Transcript {
  readonly node: string;
  readonly entries: readonly Entry[];
  /** Positions of entries that still change: tools by their id, approvals, messages. */
  readonly places: ReadonlyMap<string, number>;
  readonly last: number;
}

export function emptyTranscript(node: string): Transcript {
  return { node, entries: [], places: new Map(), last: 0 };
}

/** Event types of a transcript, in the format of the server's filter. */
export const TRANSCRIPT_TYPES =
  "message.*,tool.*,approval.*,handoff.sent,turn.status,artifact.created,node.reset,node.violation,node.inbox,node.config";

class Draft {
  entries: Entry[];
  places: Map<string, number>;

  constructor(
    from: Transcript,
    readonly node: string,
  ) {
    this.entries = [...from.entries];
    this.places = new Map(from.places);
  }

  push(entry: Entry, name?: string): void {
    // Any other event ends the open piece of text.
    const last = this.entries.at(-1);
    if ((last?.kind === "text" || last?.kind === "thought") && last.open)
      this.entries[this.entries.length - 1] = { ...last, open: false };
    if (name !== undefined) this.places.set(name, this.entries.length);
    this.entries.push(entry);
  }

  /** Changes the entry with this name, if there is one. */
  change(name: string, next: (entry: Entry) => Entry): void {
    const at = this.places.get(name);
    const entry = at === undefined ? undefined : this.entries[at];
    if (at !== undefined && entry) this.entries[at] = next(entry);
  }

  last(): Entry | undefined {
    return this.entries.at(-1);
  }
}

/** The transcript after these events, oldest first; events of other nodes are skipped. */
export function applyTranscript(transcript: Transcript, events: readonly RunEvent[]): Transcript {
  const mine = events.filter(
    (event) => event.seq > transcript.last && !event.snapshot && concerns(event, transcript.node),
  );
  if (mine.length === 0) return transcript;
  const draft = new Draft(transcript, transcript.node);
  for (const event of mine) apply(draft, event);
  return { node: transcript.node, entries: draft.entries, places: draft.places, last: mine.at(-1)!.seq };
}

/** Whether an event is about this node; a handoff is about both ends (RUNS-EV-6). */
export function concerns(event: RunEvent, node: string): boolean {
  if (event.nodeId === node) return true;
  return event.type === "handoff.sent" && event.envelope.fromNodeId === node;
}

/** The entry that holds an event, or the first one after it. */
export function entryAt(entries: readonly Entry[], seq: number): Entry | undefined {
  return (
    entries.find((entry) => entry.seq === seq || entry.until === seq) ?? entries.find((entry) => entry.seq >= seq)
  );
}

function common(event: RunEvent): Common {
  return { key: `${event.seq}`, seq: event.seq, at: event.ts, turnId: event.turnId ?? null };
}

const FATES: Record<EventOf<"node.inbox">["state"], MessageState> = {
  cancelled: "removed",
  dropped: "removed",
  returned: "queued",
  failed: "failed",
};

function apply(draft: Draft, event: RunEvent): void {
  const base = common(event);
  switch (event.type) {
    case "message.user":
      draft.push({ ...base, kind: "message", message: event.message, state: "queued" }, `message ${event.message.id}`);
      return;
    case "message.assistant.delta":
      return streamed(draft, base, "text", event.delta);
    case "message.assistant.thinking.delta":
      return streamed(draft, base, "thought", event.delta);
    case "message.assistant.thinking.final":
      return thought(draft, base, event.content);
    case "message.assistant.final":
      return finished(draft, base, event);
    case "tool.proposed":
    case "tool.started":
      return called(draft, base, event);
    case "tool.completed":
      return completed(draft, event);
    case "approval.requested":
      draft.change(`tool ${event.tool.id}`, (entry) =>
        withCall(entry, { state: "asking", approvalId: event.approvalId }),
      );
      draft.places.set(`approval ${event.approvalId}`, draft.places.get(`tool ${event.tool.id}`) ?? -1);
      return;
    case "approval.resolved":
      draft.change(`approval ${event.approvalId}`, (entry) =>
        withCall(entry, { state: "proposed", resolution: event.resolution }),
      );
      return;
    case "handoff.sent":
      draft.push({
        ...base,
        kind: "handoff",
        envelope: event.envelope,
        incoming: event.envelope.toNodeId === draft.node,
      });
      return;
    case "turn.status":
      return turned(draft, base, event);
    case "artifact.created":
      if (isShown(event.artifact)) draft.push({ ...base, kind: "artifact", artifact: event.artifact });
      return;
    case "node.reset":
      draft.push({
        ...base,
        kind: "note",
        text: `context reset${event.reason ? `: ${event.reason}` : ""}`,
        tone: "plain",
      });
      return;
    case "node.violation":
      draft.push({
        ...base,
        kind: "note",
        text: `changed files it may not change (${event.rule}): ${event.paths.join(", ")}`,
        tone: "failed",
      });
      return;
    case "node.inbox":
      draft.change(`message ${event.itemId}`, (entry) =>
        entry.kind === "message" ? { ...entry, state: FATES[event.state] } : entry,
      );
      return;
    case "node.config":
      draft.push({
        ...base,
        kind: "note",
        text: `settings changed: ${event.changes.map((change) => settingWord(change.path)).join(", ")}`,
        tone: "plain",
      });
      return;
    default:
      return;
  }
}

/** Reports, and diffs that change something. */
function isShown(artifact: Artifact): boolean {
  return artifact.kind === "report" || (artifact.kind === "diff" && (artifact.metadata.filesChanged ?? []).length > 0);
}

/** Appends text to the open piece; any event between starts a new piece (RUNS-EV-7). */
function streamed(draft: Draft, base: Common, kind: "text" | "thought", delta: string): void {
  const last = draft.last();
  if (last?.kind === kind && last.open && last.turnId === base.turnId) {
    draft.entries[draft.entries.length - 1] = { ...last, text: last.text + delta };
  } else if (kind === "text") {
    draft.push({ ...base, kind, text: delta, open: true, interrupted: false });
  } else {
    draft.push({ ...base, kind, text: delta, open: true });
  }
}

function thought(draft: Draft, base: Common, content: string): void {
  const last = draft.last();
  if (last?.kind === "thought" && last.open)
    draft.entries[draft.entries.length - 1] = { ...last, text: content, open: false, until: base.seq };
  else draft.push({ ...base, kind: "thought", text: content, open: false });
}

function finished(draft: Draft, base: Common, event: EventOf<"message.assistant.final">): void {
  const interrupted = event.status === "interrupted";
  let told = false;
  for (let at = draft.entries.length - 1; at >= 0; at -= 1) {
    const entry = draft.entries[at]!;
    if (entry.kind === "turn" && entry.turnId === base.turnId && entry.event.status === "turn.started") break;
    if (entry.kind === "text" && entry.turnId === base.turnId) {
      const until = told ? {} : { until: base.seq };
      draft.entries[at] = { ...entry, open: false, interrupted: interrupted && !told, ...until };
      told = true;
    }
  }
  if (told || !event.content) return;
  // What a turn changed comes after what it says.
  const held: Entry[] = [];
  for (let last = draft.last(); last?.kind === "artifact" && last.artifact.turnId === base.turnId; last = draft.last()) {
    held.unshift(last);
    draft.entries.pop();
  }
  draft.push({ ...base, kind: "text", text: event.content, open: false, interrupted });
  for (const entry of held) draft.push(entry);
}

function called(draft: Draft, base: Common, event: EventOf<"tool.proposed"> | EventOf<"tool.started">): void {
  const name = `tool ${event.tool.id}`;
  const running = event.type === "tool.started";
  if (draft.places.has(name)) {
    draft.change(name, (entry) =>
      withCall(entry, running ? { tool: event.tool, state: "running" } : { tool: event.tool }),
    );
  } else {
    const call: ToolCall = { tool: event.tool, state: running ? "running" : "proposed", startedAt: event.ts };
    draft.push({ ...base, kind: "tool", call }, name);
  }
}

function completed(draft: Draft, event: EventOf<"tool.completed">): void {
  draft.change(`tool ${event.toolId}`, (entry) => {
    const outcome: Partial<ToolCall> = { state: event.result.ok ? "done" : "failed", result: event.result };
    return withCall(entry, event.error ? { ...outcome, error: event.error } : outcome);
  });
}

function withCall(entry: Entry, part: Partial<ToolCall>): Entry {
  return entry.kind === "tool" ? { ...entry, call: { ...entry.call, ...part } } : entry;
}

/** A turn is one line, which tells how it ended; a failure is told where it happened, too. */
function turned(draft: Draft, base: Common, event: EventOf<"turn.status">): void {
  const name = `turn ${base.turnId ?? ""}`;
  switch (event.status) {
    case "turn.started":
      for (const taken of event.consumed) {
        draft.change(`message ${taken.id}`, (entry) =>
          entry.kind === "message" ? { ...entry, state: "taken", takenAt: base.seq } : entry,
        );
      }
      draft.push({ ...base, kind: "turn", event }, name);
      return;
    case "turn.completed":
    case "turn.interrupted":
    case "turn.failed":
      draft.change(name, (entry) => (entry.kind === "turn" ? { ...entry, end: event, until: base.seq } : entry));
      if (event.status === "turn.failed" || !draft.places.has(name)) draft.push({ ...base, kind: "turn", event });
      return;
    case "silent":
      draft.push({ ...base, kind: "turn", event });
      return;
    default:
      return;
  }
}

/** The entries as they are read: a message stands before the turn that took it; those that wait are left out. */
export function asRead(entries: readonly Entry[]): Entry[] {
  const place = (entry: Entry): number => (entry.kind === "message" ? (entry.takenAt ?? entry.seq) - 0.5 : entry.seq);
  const waits = (entry: Entry): boolean =>
    entry.kind === "message" && (entry.state === "queued" || entry.state === "removed");
  const shown = entries.filter((entry) => !waits(entry));
  // Only a message that waited for its turn can be out of place.
  const moved = shown.some((entry) => entry.kind === "message" && (entry.takenAt ?? 0) > entry.seq + 1);
  return moved ? shown.sort((a, b) => place(a) - place(b)) : shown;
}
