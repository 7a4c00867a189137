// What waits for a person: requests of each kind, a question, a failure, and checks of a project.
import { withChecks } from "../project.mjs";

const gated = { permissions: { cliPermissionsMode: "gated" } };
const request = (name, args) => `request ${JSON.stringify({ name, args })}`;

/** The label of a node, and what it asks for. */
const ASKING = {
  Builder: request("Bash", { command: "rm -rf build && make release", description: "Clean build" }),
  Writer: request("Write", { file_path: "src/upload.rs", content: "pub struct Upload {\n    offset: u64,\n}\n" }),
  Clerk: request("mcp__tracker__close_issue", { number: 12, comment: "Uploads go on after a lost line" }),
  Planner: "question Shall an upload that is older than a week be deleted?",
  Weak: "die",
};

async function prepare(stage) {
  stage.scripted();
  const world = await withChecks(stage);
  const { run } = await world.call("POST", "/api/runs", {
    goal: "Resume uploads after a lost connection",
    cwd: stage.project,
    mode: "INTERACTIVE",
    settings: { retryMax: 0 },
    nodes: Object.keys(ASKING).map((label) => ({ label, provider: "custom", ...gated })),
  });
  const nodes = Object.values(run.nodes);
  await stage.until(async () => (await world.call("GET", `/api/runs/${run.id}`)).run.phase === "EXECUTE");
  const waiting = async () => (await world.call("GET", "/api/attention")).items.length;
  for (const [label, content] of Object.entries(ASKING)) {
    const before = await waiting();
    const nodeId = nodes.find((node) => node.label === label).id;
    await world.call("POST", `/api/runs/${run.id}/chat`, { nodeId, content });
    await stage.until(async () => (await waiting()) > before);
  }
  await world.agent.call("tasks_check", { workspace: "harbour", task: world.task, path: "s:3", checks: ["e2e"], wait_seconds: 20 });
  return world;
}

/** The list, with the row opened whose text fits. */
async function opened(page, { base }, text) {
  await page.goto(`${base}/#/attention`);
  const list = page.getByRole("list", { name: "Waiting for you" });
  await list.getByText(text).first().click();
  await page.getByRole("article").first().waitFor();
  return page.getByRole("article").first();
}

export const judgingViews = {
  prepare,
  views: {
    async command(page, world) {
      await (await opened(page, world, "Run rm -rf build")).getByText("make release").first().waitFor();
    },
    async file(page, world) {
      await (await opened(page, world, /Write src\/upload\.rs/)).getByText("+     offset: u64,").waitFor();
    },
    async "file-json"(page, world) {
      const detail = await opened(page, world, /Write src\/upload\.rs/);
      await detail.getByRole("button", { name: "JSON" }).click();
      await detail.getByText('"file_path"').waitFor();
    },
    async fields(page, world) {
      await (await opened(page, world, /tracker · close issue/)).getByText("comment", { exact: true }).waitFor();
    },
    async deny(page, world) {
      const detail = await opened(page, world, "Run rm -rf build");
      await detail.getByRole("button", { name: /Deny/ }).click();
      await detail.getByLabel("Reason for denying").waitFor();
    },
    async arguments(page, world) {
      const detail = await opened(page, world, "Run rm -rf build");
      await detail.getByRole("button", { name: /Edit arguments/ }).click();
      await detail.getByLabel("Arguments").waitFor();
    },
    async always(page, world) {
      const detail = await opened(page, world, "Run rm -rf build");
      await detail.getByRole("button", { name: "Always allow …" }).click();
      await detail.getByRole("form", { name: "Always allow" }).waitFor();
    },
    async rules(page, { base }) {
      await page.goto(`${base}/#/attention?rules=1`);
      await page.getByRole("dialog", { name: "Rules" }).getByText("Nothing is allowed without asking").waitFor();
    },
    async question(page, world) {
      await (await opened(page, world, /older than a week/)).getByRole("button", { name: "Yes" }).waitFor();
    },
    async failure(page, world) {
      await (await opened(page, world, /Weak/)).getByRole("button", { name: "Send again" }).waitFor();
    },
    async check(page, world) {
      await (await opened(page, world, "Check failed")).getByText("resume_after_three_drops", { exact: true }).waitFor();
    },
  },
};
