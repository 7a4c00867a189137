// A run over time: one lane per node with its turns, and marks for notable events.
import type { RunEvent, Turn } from "../api/wire";

export interface Bar {
  readonly id: string;
  readonly node: string;
  readonly from: number;
  readonly to: number | null;
  readonly status: "running" | "completed" | "interrupted" | "failed";
  readonly title: string;
  /** Number of the event that started it. */
  readonly seq: number;
}

export interface Mark {
  readonly key: string;
  readonly node: string | null;
  readonly at: number;
  readonly seq: number;
  readonly kind: "approval" | "answer" | "handoff" | "stall" | "phase" | "failure";
  readonly title: string;
}

export interface Point {
  readonly at: number;
  readonly tokens: number;
  readonly cost: number;
}

/** Types of events that leave a mark. */
export const MARK_TYPES = "approval.*,handoff.sent,run.stalled,run.phase,node.violation";

const moment = (text: string): number => new Date(text).getTime();

export function bars(turns: readonly Turn[]): Bar[] {
  return turns.map((turn) => ({
    id: turn.id,
    node: turn.nodeId,
    from: moment(turn.startedAt),
    to: turn.endedAt ? moment(turn.endedAt) : null,
    status: turn.status ?? "running",
    seq: turn.seq,
    title: `Turn ${turn.number} · ${turn.trigger}${turn.reason && turn.reason !== "done" ? ` · ${turn.reason}` : ""}${turn.summary ? `: ${turn.summary}` : ""}`,
  }));
}

export function marks(events: readonly RunEvent[]): Mark[] {
  return events.flatMap((event) => {
    const mark = markOf(event);
    return mark
      ? [{ key: String(event.seq), node: event.nodeId ?? null, at: moment(event.ts), seq: event.seq, ...mark }]
      : [];
  });
}

/** A stretch in which a node waited for a person. */
export interface Wait {
  readonly key: string;
  readonly node: string;
  readonly from: number;
  /** Null while it still waits. */
  readonly to: number | null;
  readonly title: string;
}

/** How long nodes waited for answers: from each request to its answer. */
export function waits(events: readonly RunEvent[]): Wait[] {
  const found = new Map<string, Wait>();
  for (const event of events) {
    if (event.type === "approval.requested" && event.nodeId) {
      const title = `Waited for an answer: ${event.tool.name}`;
      found.set(event.approvalId, { key: event.approvalId, node: event.nodeId, from: moment(event.ts), to: null, title });
    } else if (event.type === "approval.resolved") {
      const wait = found.get(event.approvalId);
      if (wait) found.set(event.approvalId, { ...wait, to: moment(event.ts) });
    }
  }
  return [...found.values()];
}

function markOf(event: RunEvent): { kind: Mark["kind"]; title: string } | undefined {
  switch (event.type) {
    case "approval.requested":
      return { kind: "approval", title: `Approval: ${event.tool.name}` };
    case "approval.resolved":
      return { kind: "answer", title: `${event.resolution.status} by ${event.resolution.by}` };
    case "handoff.sent":
      return { kind: "handoff", title: `Handoff: ${event.envelope.payload.message.slice(0, 120)}` };
    case "run.stalled":
      return { kind: "stall", title: `Stalled: ${event.evidence.rule}` };
    case "run.phase":
      return { kind: "phase", title: `${event.phase}: ${event.reason}` };
    case "node.violation":
      return { kind: "failure", title: `Violation: ${event.rule}` };
    default:
      return undefined;
  }
}

/** Cumulative usage at each end of a turn, over all turns. */
export function usagePoints(turns: readonly Turn[]): Point[] {
  const ended = turns.filter((turn) => turn.endedAt).sort((a, b) => moment(a.endedAt!) - moment(b.endedAt!));
  let [tokens, cost] = [0, 0];
  return ended.map((turn) => {
    tokens += turn.usage.totalTokens;
    cost += turn.usage.costUsd ?? 0;
    return { at: moment(turn.endedAt!), tokens, cost };
  });
}

/** Round steps for an axis of this length, about `wanted` of them. */
export function ticks(from: number, to: number, wanted: number): number[] {
  const steps = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14_400, 28_800, 86_400].map(
    (step) => step * 1000,
  );
  const step =
    steps.find((candidate) => (to - from) / candidate <= wanted) ??
    Math.ceil((to - from) / wanted / 86_400_000) * 86_400_000;
  const found: number[] = [];
  for (let at = Math.ceil(from / step) * step; at <= to; at += step) found.push(at);
  return found;
}
