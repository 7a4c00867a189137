// The run in the format of the graph library. Unchanged objects keep their identity, so that only
// cards that changed are rendered again.
import type { Edge as FlowEdge, Node as FlowNode } from "@xyflow/svelte";
import type { Edge, Node } from "../../../api/wire";
import { facing, type Spot } from "../../../state/layout";
import { edgeName, liveTail, nodesOf, type RunState } from "../../../state/run";

export interface CardData extends Record<string, unknown> {
  node: Node;
  tail: string;
  chosen: boolean;
}

export interface LineData extends Record<string, unknown> {
  edge: Edge;
  /** Its label and its ends, for screen readers. */
  name: string;
  /** Number of the newest handoff along it. */
  pulse: number;
  /** Selects an edge, by clicking its label or its line. */
  choose: (edge: string) => void;
}

const CARD = { width: 240, height: 128 };

export function flowNodes(
  before: readonly FlowNode[],
  state: RunState,
  { places, chosen }: { places: Record<string, Spot>; chosen: string | undefined },
): FlowNode[] {
  const known = new Map(before.map((node) => [node.id, node]));
  return nodesOf(state.run).map((node) => {
    const old = known.get(node.id);
    const tail = liveTail(state, node);
    const data: CardData = { node, tail, chosen: node.id === chosen };
    const place = places[node.id] ?? { x: 0, y: 0 };
    const was = old?.data as CardData | undefined;
    const same = was && was.node === node && was.tail === tail && was.chosen === data.chosen;
    if (old && same && old.position.x === place.x && old.position.y === place.y) return old;
    return {
      ...old,
      id: node.id,
      type: "card",
      position: place,
      data,
      width: CARD.width,
      height: CARD.height,
      ariaLabel: `${node.label}, ${node.status}`,
    };
  });
}

export function flowEdges(
  before: readonly FlowEdge[],
  state: RunState,
  places: Record<string, Spot>,
  { selected, choose }: { selected: string | undefined; choose: (edge: string) => void },
): FlowEdge[] {
  const known = new Map(before.map((edge) => [edge.id, edge]));
  const there = Object.values(state.run.edges).filter((edge) => state.run.nodes[edge.from] && state.run.nodes[edge.to]);
  return there.map((edge) => {
    const [source, target] = facing(places[edge.from] ?? { x: 0, y: 0 }, places[edge.to] ?? { x: 0, y: 0 });
    const pulse = state.pulses[edge.id] ?? 0;
    const name = edgeName(state.run, edge);
    const old = known.get(edge.id);
    const was = old?.data as LineData | undefined;
    const unchanged = was?.edge === edge && was.name === name && was.pulse === pulse;
    const same = unchanged && old?.sourceHandle === source && old.targetHandle === target;
    if (old && same && old.selected === (edge.id === selected)) return old;
    const marker = { type: "arrowclosed" as const, width: 16, height: 16 };
    return {
      id: edge.id,
      type: "line",
      ariaLabel: name,
      source: edge.from,
      target: edge.to,
      sourceHandle: source,
      targetHandle: target,
      selected: edge.id === selected,
      markerEnd: marker,
      ...(edge.bidirectional ? { markerStart: { ...marker, orient: "auto-start-reverse" } } : {}),
      data: { edge, name, pulse, choose } satisfies LineData,
    } as FlowEdge;
  });
}
