// Positions of nodes that have not been placed: layers by distance from the lead, in order of creation.
import type { Run } from "../api/wire";
import { nodesOf } from "./run";

export interface Spot {
  x: number;
  y: number;
}

const COLUMN = 300;
const ROW = 190;

/** A position for every node. */
export function arranged(run: Run): Record<string, Spot> {
  const layers = layersOf(run);
  const spots: Record<string, Spot> = {};
  let top = 0;
  for (const layer of layers) {
    // A wide layer is broken into rows, so that 200 nodes fit a screen instead of forming one long line.
    const width = Math.max(4, Math.ceil(Math.sqrt(layer.length * 2)));
    for (let at = 0; at < layer.length; at += 1) {
      const rows = Math.ceil(layer.length / width);
      const row = Math.floor(at / width);
      const inRow = row === rows - 1 ? layer.length - row * width : width;
      const x = ((at % width) - (inRow - 1) / 2) * COLUMN;
      spots[layer[at]!] = { x, y: top + row * ROW };
    }
    top += Math.ceil(layer.length / width) * ROW;
  }
  return spots;
}

/** Half the size of a card and the space around it. */
const NEAR = { x: 250, y: 140 };

/**
 * Spots for all nodes where those that had one keep it. A new node goes where it would be arranged, or below that if
 * another node is there.
 */
export function settled(
  known: Readonly<Record<string, Spot>>,
  wanted: Readonly<Record<string, Spot>>,
): Record<string, Spot> {
  const spots: Record<string, Spot> = {};
  for (const id of Object.keys(wanted)) if (known[id]) spots[id] = known[id];
  for (const [id, spot] of Object.entries(wanted)) {
    if (spots[id]) continue;
    let free = spot;
    const isTaken = (one: Spot): boolean => Math.abs(one.x - free.x) < NEAR.x && Math.abs(one.y - free.y) < NEAR.y;
    while (Object.values(spots).some(isTaken)) free = { x: free.x, y: free.y + ROW };
    spots[id] = free;
  }
  return spots;
}

function layersOf(run: Run): string[][] {
  const ids = nodesOf(run).map((node) => node.id);
  const links = new Map<string, string[]>(ids.map((id) => [id, []]));
  for (const edge of Object.values(run.edges)) {
    links.get(edge.from)?.push(edge.to);
    links.get(edge.to)?.push(edge.from);
  }
  const seen = new Set<string>();
  const layers: string[][] = [];
  const roots = [...(run.rootNodeId ? [run.rootNodeId] : []), ...ids];
  for (const root of roots) {
    if (seen.has(root) || !links.has(root)) continue;
    let layer = [root];
    for (let depth = 0; layer.length > 0; depth += 1) {
      layer.forEach((id) => seen.add(id));
      (layers[depth] ??= []).push(...layer);
      layer = [...new Set(layer.flatMap((id) => links.get(id) ?? []))].filter((id) => !seen.has(id));
    }
  }
  return layers;
}

export type Port = "top" | "right" | "bottom" | "left";

/** The ports of two nodes that face each other. */
export function facing(from: Spot, to: Spot): [Port, Port] {
  const [x, y] = [to.x - from.x, to.y - from.y];
  if (Math.abs(x) > Math.abs(y) * 1.2) return x > 0 ? ["right", "left"] : ["left", "right"];
  return y > 0 ? ["bottom", "top"] : ["top", "bottom"];
}
