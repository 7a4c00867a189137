// Duplicates nodes.
import type { Node, NodeInput } from "../../api/wire";
import type { RunStore } from "./store.svelte";

/** Adds a node with the same settings beside the first. */
export async function duplicate(store: RunStore, node: Node): Promise<void> {
  const config = store.state?.run.nodeConfigs[node.id];
  if (!config) return;
  const { alias: _alias, held: _held, ...rest } = config;
  const id = await store.addNode({ ...rest, label: `${config.label} copy` } as NodeInput);
  const at = store.state?.run.layout.positions[node.id];
  if (at) store.place({ positions: { [id]: { x: at.x + 40, y: at.y + 60 } } });
}
