// The official TypeScript SDK, version 1: `node sdk_v1.mjs stdio PROGRAM ARGUMENTS... | http URL TOKEN`

import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { Report, play, target } from "./story.mjs";

const aim = target(process.argv.slice(2));
const transport =
  aim.transport === "stdio"
    ? new StdioClientTransport({ command: aim.command, args: aim.args, stderr: "inherit" })
    : new StreamableHTTPClientTransport(aim.url, { requestInit: { headers: aim.headers } });
const client = new Client({ name: "outside-sdk-v1", version: "1.0.0" });
const report = new Report();

await report.check("the connection is made", async () => {
  await client.connect(transport);
  return client.getServerVersion().name === "muster" && client.getInstructions().length > 100;
});
await play(
  {
    listTools: async () => (await client.listTools()).tools,
    callTool: (name, args) => client.callTool({ name, arguments: args }),
    readResource: (uri) => client.readResource({ uri }),
    getPrompt: (name, args) => client.getPrompt({ name, arguments: args }),
  },
  report,
  "legacy",
);
await client.close();
report.finish();
