// Answers to waiting items, as calls to the server.
import { get, operation, patch, post, remove } from "../../api/client";
import type { AnswerKind } from "../../state/attention";
import type { AllowProposal, AllowRule, Attention, Resolution, Run, WorkAttention } from "../../api/wire";

/** Answers an approval. */
export async function resolve(approval: string, resolution: Resolution): Promise<void> {
  await post("/api/approvals/{approval}/resolve", { path: { approval }, body: { resolution } });
}

/** The rules that a request could become. */
export async function proposal(approval: string): Promise<AllowProposal> {
  return (await get("/api/approvals/{approval}/rule", { path: { approval } })).proposal;
}

/** What is allowed without asking. */
export async function rules(): Promise<AllowRule[]> {
  return (await get("/api/allow-rules")).rules;
}

/** Requests that a rule allowed wait for a person again. */
export async function removeRule(rule: string): Promise<void> {
  await remove("/api/allow-rules/{rule}", { path: { rule } });
}

/** Resumes a run. */
export async function resume(run: string): Promise<void> {
  await patch("/api/runs/{run}", { path: { run }, body: { patch: { status: "running" } } });
}

/** Dismisses the notice that a run was declared done and is not. */
export async function dismiss(run: string): Promise<void> {
  await post("/api/runs/{run}/dismiss", { path: { run } });
}

/** Resumes a run that is paused because of a node. */
async function resumeIfPaused(run: Run | undefined): Promise<void> {
  if (run?.status === "paused" && run.statusReason?.code.endsWith("_failed")) await resume(run.id);
}

/** Starts a node again with a fresh retry count, and resumes its run if that is paused because of it. */
export async function start(item: Attention, run: Run | undefined): Promise<void> {
  await post("/api/runs/{run}/nodes/{node}/start", { path: { run: item.runId, node: item.nodeId ?? "" } });
  await resumeIfPaused(run);
}

/** Sends the failed inputs of a node to it again. */
export async function resend(item: Attention, run: Run | undefined): Promise<void> {
  const path = { run: item.runId, node: item.nodeId ?? "" };
  const { inbox } = await get("/api/runs/{run}/nodes/{node}/inbox", { path });
  for (const failed of inbox.filter((one) => one.state === "failed")) {
    await post("/api/runs/{run}/nodes/{node}/inbox/{item}/resend", { path: { ...path, item: failed.id } });
  }
  await resumeIfPaused(run);
}

/** Clears a node's context and resumes its run. */
export async function resetAndResume(item: Attention): Promise<void> {
  if (item.nodeId) {
    await post("/api/runs/{run}/nodes/{node}/reset", { path: { run: item.runId, node: item.nodeId }, body: {} });
  }
  await resume(item.runId);
}

/** Sends a message to a node. */
export async function say(run: string, nodeId: string, content: string, interrupt = false): Promise<void> {
  await post("/api/runs/{run}/chat", { path: { run }, body: { nodeId, content, interrupt } });
}

/** Runs the check of an item again; its output is shown where the item is. */
export async function runCheck({ workspace, taskId, check }: WorkAttention): Promise<void> {
  if (!taskId || !check) return;
  await operation("tasks_check", { workspace, task: taskId, checks: [check], fresh: true, wait_seconds: 0 });
}

/** Declines a waiver that an agent asks for. */
export async function declineWaiver({ workspace, taskId, stepId, check }: WorkAttention): Promise<void> {
  if (!taskId || !check) return;
  const about = { workspace, task: taskId, check, ...(stepId ? { step: stepId } : {}) };
  await post("/api/work/waivers", { body: { ...about, take_back: true } });
}

/** Performs an answer that needs nothing typed; returns what to say about it. */
export async function perform(kind: AnswerKind, item: Attention, run: Run | undefined): Promise<string> {
  switch (kind) {
    case "approve":
      await resolve(item.refId ?? "", { status: "approved" });
      return "Approved";
    case "resume":
      await resume(item.runId);
      return "Resumed";
    case "start":
      await start(item, run);
      return "Started";
    case "resend":
      await resend(item, run);
      return "Sent again";
    case "reset":
      await resetAndResume(item);
      return "Reset and resumed";
    case "dismiss":
      await dismiss(item.runId);
      return "Dismissed";
    case "deny":
    case "edit":
    case "reply":
    case "hide":
    case "open":
      return "";
  }
}
