// A run built from its events (RUNS-EV-4): patches are merged field by field, maps entry by entry.
// Many events are applied at once; a map is copied once per batch, however many entries change.
import type { Approval, Edge, EventOf, Node, Run, RunEvent } from "../api/wire";

export interface RunState {
  readonly run: Run;
  /** The latest text of each node, for its card. */
  readonly tails: Readonly<Record<string, Tail>>;
  /** The newest handoff along each edge, by the number of its event. */
  readonly pulses: Readonly<Record<string, number>>;
  readonly gone: boolean;
}

/** The end of the text of one turn. */
export interface Tail {
  readonly turnId: string | null;
  readonly text: string;
}

const TAIL_LETTERS = 140;

/** A run as it was fetched. */
export function freshRun(run: Run): RunState {
  return { run, tails: {}, pulses: {}, gone: false };
}

/** Maps that a batch may change, each copied at its first change. */
class Draft {
  run: Run;
  tails: Record<string, Tail>;
  pulses: Record<string, number>;
  gone: boolean;
  #own = new Set<string>();

  constructor(from: RunState) {
    this.run = { ...from.run };
    this.tails = from.tails as Record<string, Tail>;
    this.pulses = from.pulses as Record<string, number>;
    this.gone = from.gone;
  }

  map<K extends "nodes" | "edges" | "nodeConfigs" | "approvals">(name: K): Run[K] {
    if (!this.#own.has(name)) {
      this.#own.add(name);
      this.run[name] = { ...this.run[name] };
    }
    return this.run[name];
  }

  /** A new turn starts with no text. */
  tail(node: string, turnId: string | null, how: { add: string } | { set: string }): void {
    if (!this.#own.has("tails")) {
      this.#own.add("tails");
      this.tails = { ...this.tails };
    }
    const known = this.tails[node];
    const before = known?.turnId === turnId ? known.text : "";
    const text = "add" in how ? before + how.add : how.set;
    this.tails[node] = { turnId, text: text.slice(-TAIL_LETTERS) };
  }

  pulse(edge: string, seq: number): void {
    this.pulses = { ...this.pulses, [edge]: seq };
  }

  replace(run: Run): void {
    this.run = { ...run };
    this.#own.clear();
    this.#own.add("tails");
    this.tails = { ...this.tails };
  }

  done(): RunState {
    return { run: this.run, tails: this.tails, pulses: this.pulses, gone: this.gone };
  }
}

/** The run after these events, which come in the order of their numbers. */
export function applyRun(state: RunState, events: readonly RunEvent[]): RunState {
  const draft = new Draft(state);
  for (const event of events) {
    // A snapshot may repeat the state that is already known; every other event comes once.
    if (!event.snapshot && event.seq <= draft.run.lastSeq) continue;
    apply(draft, event);
    draft.run.lastSeq = event.seq;
    if (!event.snapshot) draft.run.updatedAt = event.ts;
  }
  return draft.done();
}

function apply(draft: Draft, event: RunEvent): void {
  const node = event.nodeId ?? undefined;
  switch (event.type) {
    case "run.patch":
      return runPatched(draft, event);
    case "run.deleted":
      draft.gone = true;
      return;
    case "node.patch":
      if (node) patchNode(draft, node, event.patch as Partial<Node>);
      return;
    case "node.progress":
      if (node) patchNode(draft, node, { status: event.status, summary: event.summary });
      return;
    case "node.deleted":
      if (!node) return;
      delete draft.map("nodes")[node];
      delete draft.map("nodeConfigs")[node];
      return;
    case "edge.created":
      draft.map("edges")[event.edge.id] = event.edge;
      return;
    case "edge.deleted":
      delete draft.map("edges")[event.edgeId];
      return;
    case "approval.requested":
      draft.map("approvals")[event.approvalId] = requested(event);
      return;
    case "approval.resolved":
      delete draft.map("approvals")[event.approvalId];
      return;
    case "approval.detached":
      detached(draft, event.approvalId);
      return;
    case "artifact.created":
      draft.run.artifactCount += 1;
      return;
    case "message.assistant.delta":
      if (node) draft.tail(node, event.turnId ?? null, { add: event.delta });
      return;
    case "message.assistant.final":
      if (node) draft.tail(node, event.turnId ?? null, { set: event.content });
      return;
    case "handoff.sent":
      if (event.envelope.meta.edgeId) draft.pulse(event.envelope.meta.edgeId, event.seq);
      return;
    case "turn.status":
      if (node) turnMoved(draft, node, event);
      return;
    // Repeated by a patch, or irrelevant to the run as a whole.
    case "run.phase":
    case "run.mode":
    case "run.stalled":
    case "run.budget":
    case "node.config":
    case "node.reset":
    case "node.inbox":
    case "node.log":
    case "node.violation":
    case "message.user":
    case "message.assistant.thinking.delta":
    case "message.assistant.thinking.final":
    case "tool.proposed":
    case "tool.started":
    case "tool.completed":
    case "telemetry.usage":
      return;
  }
}

function runPatched(draft: Draft, event: EventOf<"run.patch">): void {
  const patch = event.patch as Partial<Run>;
  if (event.snapshot) {
    draft.replace({ ...draft.run, ...patch });
    return;
  }
  const { nodes, nodeConfigs, ...own } = patch;
  Object.assign(draft.run, own);
  if (nodes) Object.assign(draft.map("nodes"), nodes);
  if (nodeConfigs) Object.assign(draft.map("nodeConfigs"), nodeConfigs);
}

function patchNode(draft: Draft, id: string, patch: Partial<Node>): void {
  const nodes = draft.map("nodes");
  const known = nodes[id];
  // The first patch of a node holds every field.
  if (known || patch.id) nodes[id] = { ...known, ...patch } as Node;
}

function requested(event: EventOf<"approval.requested">): Approval {
  return {
    approvalId: event.approvalId,
    runId: event.runId,
    nodeId: event.nodeId ?? "",
    turnId: event.turnId ?? "",
    kind: event.kind,
    tool: event.tool,
    context: event.context ?? null,
    canModify: event.canModify,
    detached: false,
    requestedAt: event.ts,
    status: "pending",
  } as Approval;
}

function detached(draft: Draft, id: string): void {
  const approval = draft.map("approvals")[id];
  if (approval) draft.map("approvals")[id] = { ...approval, detached: true };
}

const STATES = {
  waiting_for_model: "sent",
  "tool.pending": "tool",
  awaiting_approval: "awaiting_approval",
  finishing: "finishing",
} as const;

function turnMoved(draft: Draft, id: string, event: EventOf<"turn.status">): void {
  const known = draft.run.nodes[id];
  const state = (STATES as Record<string, string>)[event.status];
  if (!known?.turn || !state) return;
  draft.map("nodes")[id] = { ...known, turn: { ...known.turn, state: state as typeof known.turn.state } };
}

/** The text of a node in its current turn. */
export function liveTail(state: RunState, node: Node): string {
  const tail = state.tails[node.id];
  return node.turn && tail?.turnId === node.turn.turnId ? tail.text : "";
}

/** The accessible name of an edge: its label and the nodes that it joins. */
export function edgeName(run: Run, edge: Edge): string {
  const label = (id: string): string => run.nodes[id]?.label ?? "a deleted node";
  const way = edge.bidirectional ? "between" : "from";
  return `Edge ${edge.label} ${way} ${label(edge.from)} ${edge.bidirectional ? "and" : "to"} ${label(edge.to)}`;
}

/** Nodes in order of creation. */
export function nodesOf(run: Run): Node[] {
  return Object.values(run.nodes).sort((a, b) => a.createdAt.localeCompare(b.createdAt) || a.id.localeCompare(b.id));
}

/** Turns that are in flight. */
export function activeTurns(run: Run): number {
  return Object.values(run.nodes).filter((node) => node.turn !== null).length;
}

/** Whether the nodes' programs ask before they act, in a word. */
export function askingWords(run: Run): string {
  const modes = new Set(Object.values(run.nodes).map((node) => node.permissions.cliPermissionsMode));
  if (modes.size === 0) return "";
  if (modes.size > 1) return "some agents ask";
  return modes.has("gated") ? "agents ask" : "agents do not ask";
}
