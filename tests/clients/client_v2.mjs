// The official TypeScript client, version 2:
// `node client_v2.mjs auto|legacy stdio PROGRAM ARGUMENTS... | http URL TOKEN`

import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { Report, play, target } from "./story.mjs";

const mode = process.argv[2];
const aim = target(process.argv.slice(3));
const transport =
  aim.transport === "stdio"
    ? new StdioClientTransport({ command: aim.command, args: aim.args, stderr: "inherit" })
    : new StreamableHTTPClientTransport(aim.url, { requestInit: { headers: aim.headers } });
const client = new Client(
  { name: "outside-client-v2", version: "1.0.0" },
  { versionNegotiation: { mode } },
);
const era = mode === "auto" ? "modern" : "legacy";
const report = new Report();

await report.check(`the ${mode} connection speaks the era it should`, async () => {
  await client.connect(transport);
  return client.getProtocolEra() === era ? true : client.getProtocolEra();
});
await play(
  {
    listTools: async () => (await client.listTools()).tools,
    callTool: (name, args) => client.callTool({ name, arguments: args }),
    readResource: (uri) => client.readResource({ uri }),
    getPrompt: (name, args) => client.getPrompt({ name, arguments: args }),
  },
  report,
  era,
);
await client.close();
report.finish();
