// The official Inspector in CLI mode, one process for each request:
// `node inspector.mjs legacy|modern stdio PROGRAM ARGUMENTS... | http URL TOKEN`

import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Report, envelope, target } from "./story.mjs";

const era = process.argv[2];
const aim = target(process.argv.slice(3));
const program = fileURLToPath(import.meta.resolve("@modelcontextprotocol/inspector/package.json"));
const launcher = join(program, "..", "clients/launcher/build/index.js");
const home = await mkdtemp(join(tmpdir(), "muster-inspector-"));

/** Runs one request; answers what it printed and how it ended. */
function inspect(method, ...options) {
  const place =
    aim.transport === "stdio"
      ? [aim.command, ...aim.args]
      : ["--server-url", aim.url.href, "--transport", "http", ...headers(), "--stored-auth-only"];
  const flags = ["--method", method, ...options, "--protocol-era", era, "--format", "json", "--quiet"];
  // Options of the Inspector come before the server's own command line.
  const line = aim.transport === "stdio" ? [...flags, "--", ...place] : [...place, ...flags];
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [launcher, "--cli", ...line], {
      env: { ...process.env, HOME: home },
      stdio: ["ignore", "pipe", "pipe"],
    });
    let out = "";
    let err = "";
    child.stdout.on("data", (chunk) => (out += chunk));
    child.stderr.on("data", (chunk) => (err += chunk));
    child.on("error", reject);
    child.on("close", (code) => resolve({ code, out, err }));
  });
}

function headers() {
  return Object.entries(aim.headers).flatMap(([name, value]) => ["--header", `${name}: ${value}`]);
}

/** The JSON result of a request that must succeed. */
async function result(method, ...options) {
  const { out, err } = await inspect(method, ...options);
  try {
    const printed = JSON.parse(out);
    return printed.result ?? printed;
  } catch {
    throw new Error(`${method} printed ${JSON.stringify(out || err)}`);
  }
}

const call = async (name, args) =>
  envelope(
    await result("tools/call", "--tool-name", name, "--tool-args-json", JSON.stringify(args)),
    era,
  );

const report = new Report();
const workspace = "outside/inspector";
const seen = {};

await report.check("tools are listed without an error of schema", async () => {
  const { code, out, err } = await inspect("tools/list", "--strict");
  const printed = JSON.parse(out || "{}");
  const { tools } = printed.result ?? printed;
  const listed = tools?.some((tool) => tool.name === "tasks_create");
  return (code === 0 && listed) || `exit ${code}: ${err}`;
});
await report.check("a plan is created", async () => {
  const answer = await call("tasks_create", { workspace, kind: "plan", title: "Inspected" });
  seen.plan = answer.result.id;
  return answer.success;
});
await report.check("a task with a step is created and its step closed", async () => {
  const steps = [{ title: "Only", success_criteria: ["it runs"], tests: ["run it"] }];
  const task = await call("tasks_create", { workspace, parent: seen.plan, title: "Task", steps });
  const step = { task: task.result.id, step_id: task.result.steps[0].step_id };
  const answer = await call("tasks_close_step", { workspace, ...step, checkpoints: "gate" });
  return answer.success;
});
await report.check("a refusal is a result with the error flag", async () => {
  const refusal = await call("tasks_radar", { workspace, task: "TASK-999" });
  return refusal.error.code === "UNKNOWN_ID";
});
await report.check("prompts are listed", async () => {
  const { prompts } = await result("prompts/list");
  return prompts.some((prompt) => prompt.name === "start_task");
});
await rm(home, { recursive: true, force: true });
report.finish();
