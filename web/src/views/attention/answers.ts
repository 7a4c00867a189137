// Answers to what waits, as calls to the server.
import { patch, post } from "../../api/client";
import type { Attention, Resolution } from "../../api/wire";

/** Answers an approval. */
export async function resolve(approval: string, resolution: Resolution): Promise<void> {
  await post("/api/approvals/{approval}/resolve", { path: { approval }, body: { resolution } });
}

/** Lets a run go on. */
export async function resume(run: string): Promise<void> {
  await patch("/api/runs/{run}", { path: { run }, body: { patch: { status: "running" } } });
}

/** Puts away that a run was declared done and is not. */
export async function dismiss(run: string): Promise<void> {
  await post("/api/runs/{run}/dismiss", { path: { run } });
}

/** Lets a node go on, with a fresh count of retries. */
export async function start(run: string, node: string): Promise<void> {
  await post("/api/runs/{run}/nodes/{node}/start", { path: { run, node } });
}

/** Clears a node's context and lets its run go on. */
export async function resetAndResume(item: Attention): Promise<void> {
  if (item.nodeId) {
    await post("/api/runs/{run}/nodes/{node}/reset", { path: { run: item.runId, node: item.nodeId }, body: {} });
  }
  await resume(item.runId);
}

/** Says something to a node. */
export async function say(run: string, nodeId: string, content: string, interrupt = false): Promise<void> {
  await post("/api/runs/{run}/chat", { path: { run }, body: { nodeId, content, interrupt } });
}
