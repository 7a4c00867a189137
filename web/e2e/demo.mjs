// The demo run as a scenario's server: a team of scripted agents in a throw-away project.
import { readFileSync } from "node:fs";

/** Starts `muster demo`; returns its page link, its address and its token. */
export async function demo(stage, { pace = 15, handsOn = true } = {}) {
  const args = ["demo", "--pace", String(pace), "--dir", `${stage.folder}/demo`];
  if (handsOn) args.push("--hands-on");
  const program = stage.start(args);
  const [, link] = await program.line(/(http:\/\/[\d.:]+\/#code=\w+)/);
  const base = link.split("/#")[0];
  const storage = `${stage.folder}/demo/store`;
  const token = () => readFileSync(`${storage}/token`, "utf8").trim();
  return { program, link, base, token, call: (method, path, body) => stage.call(base, method, path, body, storage) };
}

/** The run of the demo, once it exists. */
export async function demoRun(server) {
  const deadline = Date.now() + 20_000;
  for (;;) {
    const { runs } = await server.call("GET", "/api/runs?view=list");
    if (runs.length > 0) return runs[0];
    if (Date.now() > deadline) throw new Error("the demo made no run");
    await new Promise((done) => setTimeout(done, 50));
  }
}

/** The id of the node with this alias. */
export const byAlias = (run, alias) => Object.values(run.nodes).find((node) => node.alias === alias)?.id;
