// The official TypeScript client, version 2, with roots: `node roots.mjs auto|legacy PROGRAM ARGUMENTS...`
//
// The server runs in a directory that is no project, so the roots decide the workspace.

import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { Report } from "./story.mjs";

const [mode, command, ...args] = process.argv.slice(2);
const folder = mkdtempSync(join(tmpdir(), "muster-roots-"));
const elsewhere = join(folder, "elsewhere");
const project = join(folder, "my project");
mkdirSync(elsewhere);
mkdirSync(project);
writeFileSync(join(project, "muster.toml"), 'workspace = "outside/roots"\n');

const transport = new StdioClientTransport({ command, args, cwd: elsewhere, stderr: "inherit" });
const client = new Client(
  { name: "outside-roots", version: "1.0.0" },
  { capabilities: { roots: { listChanged: true } }, versionNegotiation: { mode } },
);
let asked = 0;
client.setRequestHandler("roots/list", () => {
  asked += 1;
  return { roots: [{ uri: pathToFileURL(project).href, name: "project" }] };
});
const report = new Report();
const create = async (title) => {
  const result = await client.callTool({ name: "tasks_create", arguments: { kind: "plan", title } });
  return result.structuredContent.context.workspace;
};

await report.check(`the ${mode} connection is made`, async () => {
  await client.connect(transport);
  return client.getProtocolEra() === (mode === "auto" ? "modern" : "legacy");
});
await report.check("a tool may be called without a workspace", async () => {
  const { tools } = await client.listTools();
  const schema = tools.find((tool) => tool.name === "tasks_create").inputSchema;
  return !(schema.required ?? []).includes("workspace");
});
await report.check("the roots decide the workspace", async () => {
  const found = await create("First");
  return found === "outside/roots" ? true : found;
});
await report.check("they are asked for once", async () => {
  const found = await create("Second");
  return found === "outside/roots" && asked === 1 ? true : `${found} after ${asked} questions`;
});
await client.close();
report.finish();
