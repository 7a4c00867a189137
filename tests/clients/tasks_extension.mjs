// The official package for the tasks extension, with the official client that it builds on:
// `node tasks_extension.mjs stdio PROGRAM ARGUMENTS... | http URL TOKEN`, against the fixtures of the
// conformance suite.

import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import {
  createTaskSessionFromClient,
  resultFromTaskOutcome,
} from "@modelcontextprotocol/ext-tasks/client";
import { Report, target } from "./story.mjs";

const REVISION = "2026-07-28";
const clientInfo = { name: "outside-ext-tasks", version: "1.0.0" };

/** Requests with the wire shapes of the extension, next to those of the client. */
class RawDispatch {
  #transport;
  #last = 0;
  #waiting = new Map();

  constructor(transport) {
    this.#transport = transport;
  }

  /** Takes the responses to its own requests; to be called once the client is connected. */
  listen() {
    const others = this.#transport.onmessage;
    this.#transport.onmessage = (message, extra) => {
      const waiting = this.#waiting.get(message.id);
      if (waiting === undefined || message.method !== undefined) return others?.(message, extra);
      this.#waiting.delete(message.id);
      if (message.error === undefined) waiting({ kind: "result", result: message.result });
      else waiting({ kind: "error", error: message.error });
    };
  }

  dispatch = (request, { signal, context } = {}) => {
    const id = `raw-${(this.#last += 1)}`;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, resolve);
      signal?.addEventListener("abort", () => reject(signal.reason), { once: true });
      const options = { headers: context?.headers, requestSignal: signal };
      this.#transport.send({ jsonrpc: "2.0", id, ...request }, options).catch(reject);
    });
  };
}

const aim = target(process.argv.slice(2));
const transport =
  aim.transport === "stdio"
    ? new StdioClientTransport({ command: aim.command, args: aim.args, stderr: "inherit" })
    : new StreamableHTTPClientTransport(aim.url, { requestInit: { headers: aim.headers } });
const client = new Client(clientInfo, { versionNegotiation: { mode: "auto" } });
const raw = new RawDispatch(transport);
const report = new Report();
const seen = {};

await report.check("the server offers the extension", async () => {
  await client.connect(transport);
  raw.listen();
  const offered = client.getServerCapabilities()?.extensions?.["io.modelcontextprotocol/tasks"];
  return JSON.stringify(offered) === "{}" ? true : (offered ?? "nothing");
});
const session = createTaskSessionFromClient(client, {
  endpointId: "outside",
  rawDispatch: raw.dispatch,
  v2RequestFraming: { protocolVersion: REVISION, clientInfo, clientCapabilities: {} },
  onError: (error) => console.log(`the session reports: ${error.message}`),
});

await report.check("a call that takes long becomes a task and ends with its result", async () => {
  const execution = await session.callTool("slow_compute", { seconds: 1, label: "outside" });
  seen.handle = execution.handle;
  const { outcome } = await execution.settle();
  const text = resultFromTaskOutcome(outcome).content[0].text;
  return (execution.handle !== undefined && text.includes("outside")) || text;
});
await report.check("a call that ends soon is answered without a task", async () => {
  const execution = await session.callTool("slow_compute", { seconds: 0, label: "soon" });
  const { outcome } = await execution.settle();
  const text = resultFromTaskOutcome(outcome).content[0].text;
  return (execution.handle === undefined && text.includes("soon")) || text;
});
await report.check("a tool that does not take long is called as ever", async () => {
  const execution = await session.callTool("greet", { name: "Ada" });
  const { outcome } = await execution.settle();
  return resultFromTaskOutcome(outcome).content[0].text === "Hello, Ada!";
});
await report.check("a cancelled task ends as cancelled", async () => {
  const began = Date.now();
  const execution = await session.callTool("slow_compute", { seconds: 60, label: "cancelled" });
  await execution.cancel();
  const { outcome } = await execution.settle();
  const quick = Date.now() - began < 10_000;
  return (quick && outcome.status === "cancelled") || JSON.stringify(outcome);
});
await report.check("a tool error is a result of the task", async () => {
  const execution = await session.callTool("failing_job", {});
  const { outcome } = await execution.settle();
  return resultFromTaskOutcome(outcome).isError === true;
});
await report.check("a protocol error fails the task", async () => {
  const execution = await session.callTool("protocol_error_job", {});
  const { outcome } = await execution.settle();
  return outcome.status === "failed" || JSON.stringify(outcome);
});
await report.check("a task is found again by its id, and an unknown one is refused", async () => {
  const ask = (taskId) =>
    raw.dispatch(
      {
        method: "tasks/get",
        params: {
          taskId,
          _meta: {
            "io.modelcontextprotocol/protocolVersion": REVISION,
            "io.modelcontextprotocol/clientInfo": clientInfo,
            "io.modelcontextprotocol/clientCapabilities": {
              extensions: { "io.modelcontextprotocol/tasks": {} },
            },
          },
        },
      },
      { context: { headers: { "Mcp-Method": "tasks/get", "Mcp-Name": taskId } } },
    );
  const kept = await ask(seen.handle.taskId);
  const unknown = await ask("nobody");
  const refused = unknown.kind === "error" && unknown.error.code === -32602;
  return (kept.result?.status === "completed" && refused) || JSON.stringify([kept, unknown]);
});
await session.close();
await client.close();
report.finish();
