// A project in a real git repository whose checks do what its files say, and work that has to pass them.
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { AgentClient } from "./agent_client.mjs";

/** Prints each test of a list as cargo does, waits while `.hold` is there and for the seconds in `.pace`, and ends as
    the tests say. */
const RUNNER = `#!/bin/sh
echo "   Compiling harbour v0.4.2"
n=0
while [ -e .hold ]; do n=$((n + 1)); echo "waiting for the database, try $n"; sleep 0.1; done
[ -e .pace ] && sleep "$(cat .pace)"
passed=0; failed=0; ignored=0
while read -r name result; do
  [ -n "$name" ] || continue
  if [ "$result" = flips ]; then result=ok; [ -e .flip ] && result=FAILED; fi
  echo "test $name ... $result"
  case $result in ok) passed=$((passed + 1));; FAILED) failed=$((failed + 1));; *) ignored=$((ignored + 1));; esac
done < "$1"
word=ok; [ $failed -eq 0 ] || word=FAILED
echo
echo "test result: $word. $passed passed; $failed failed; $ignored ignored; 0 measured; 0 filtered out"
[ $failed -eq 0 ]
`;

const DEFINITIONS = `workspace = "harbour"
gates = "plain"

[checks.tests]
run = "sh checks/run.sh tests.txt"
timeout = "5m"
paths = ["src/**", "tests.txt", "checks/**"]
required = true

[checks.lint]
run = "sh checks/run.sh lint.txt"
paths = ["lint.txt"]

[checks.e2e]
run = "sh checks/run.sh e2e.txt"
timeout = "20m"

[checks.audit]
run = "sh checks/run.sh lint.txt"
proves = ["security"]
`;

export const PROTECT = `
[protect]
paths = ["contracts/**"]
`;

const FILES = {
  "muster.toml": DEFINITIONS,
  ".gitignore": ".hold\n.flip\n.pace\n",
  "checks/run.sh": RUNNER,
  "src/upload.rs": "pub struct Upload;\n",
  "tests.txt": "parts::survive_kill ok\nparts::no_doubles ok\nupload::head_names_offset ok\nupload::slow ignored\n",
  "lint.txt": "clippy::all ok\n",
  "e2e.txt": "resume_after_three_drops FAILED\nprogress_never_goes_back ok\n",
  "contracts/upload.json": '{ "offset": "integer" }\n',
};

export class Repository {
  constructor(folder, files = {}) {
    this.folder = folder;
    for (const [name, text] of Object.entries({ ...FILES, ...files })) this.write(name, text);
    this.git("init", "--quiet", "--initial-branch=main");
    this.commit("Start");
  }

  git(...args) {
    const who = ["-c", "user.name=Grace", "-c", "user.email=grace@example.org", "-c", "commit.gpgsign=false"];
    return execFileSync("git", [...who, ...args], { cwd: this.folder, encoding: "utf8" });
  }

  commit(message) {
    this.git("add", "--all");
    this.git("commit", "--quiet", "--message", message);
  }

  write(name, text) {
    mkdirSync(dirname(join(this.folder, name)), { recursive: true });
    writeFileSync(join(this.folder, name), text);
  }

  read(name) {
    return readFileSync(join(this.folder, name), "utf8");
  }

  remove(name) {
    rmSync(join(this.folder, name), { force: true });
  }

  /** Checks that start now do not go on until the hold ends. */
  hold() {
    this.write(".hold", "");
  }

  release() {
    this.remove(".hold");
  }
}

/** A person accepts what the project file says. */
export async function accept(server, folder) {
  const { projects } = await server.call("GET", `/api/projects?directory=${encodeURIComponent(folder)}`);
  const { root, found } = projects.find((project) => project.root === folder);
  return server.call("POST", "/api/projects/decide", { root, digest: found.digest, decision: "accept" });
}

const step = (title, done, checks = []) => ({
  title,
  success_criteria: [done],
  tests: checks.length > 0 ? [`check ${checks.join(", ")}`] : ["Read by a second person"],
  ...(checks.length > 0 ? { checks } : {}),
});

/** An accepted project, a task with steps that have to pass its checks, and an agent that works on it; `last` are the
    checks of the last step. */
export async function withChecks(stage, files = {}, { last = ["tests", "lint"] } = {}) {
  const repository = new Repository(stage.project, files);
  const server = await stage.serve();
  await accept(server, stage.project);
  const agent = await AgentClient.connect(stage, stage.project);
  const op = async (name, input) =>
    (await server.call("POST", `/api/ops/${name}`, { workspace: "harbour", ...input })).result;
  const { task_id: task } = await agent.call("tasks_macro_start", {
    workspace: "harbour",
    plan_title: "Upload pipeline that survives restarts",
    task_title: "Resume uploads after a lost connection",
    steps: [
      step("Keep received parts on disk", "Parts survive a kill of the server", ["tests"]),
      step("Answer where an upload stands", "HEAD names the next byte"),
      step("Write the operator's page", "Limits and clean-up are described"),
      step("Client goes on by itself", "Three drops in one upload end well", ["e2e"]),
      step("Limit what one client holds open", "Never more than four uploads", last),
    ],
  });
  const place = `${server.base}/#/work/harbour/${task}`;
  return { ...server, repository, agent, op, task, place, workspace: "harbour" };
}

/** The agent closes the first four steps, each backed differently; a person waives the check of the fourth. */
export async function closeFour({ agent, op, call, task }) {
  const at = (path) => ({ workspace: "harbour", task, path });
  await agent.call("tasks_macro_close_step", { ...at("s:0"), checkpoints: "gate", note: "Parts are named by their hash." });
  await op("tasks_evidence_capture", {
    ...at("s:1"),
    items: [{ kind: "command", command: "curl -I localhost/uploads/42", stdout: "Upload-Offset: 1048576", exit_code: 0 }],
    checks: ["CMD: curl -I localhost/uploads/42"],
  });
  await agent.call("tasks_macro_close_step", { ...at("s:1"), checkpoints: "gate" });
  await agent.call("tasks_macro_close_step", { ...at("s:2"), checkpoints: "gate" });
  await op("tasks_check", { task, checks: ["e2e"], wait_seconds: 20 });
  await call("POST", "/api/work/waivers", {
    workspace: "harbour",
    task,
    step: "s:3",
    check: "e2e",
    reason: "The staging proxy closes idle lines after 30 s; operations are on it (OPS-212).",
    for_good: true,
  });
  await agent.call("tasks_macro_close_step", { ...at("s:3"), checkpoints: "gate" });
}
