// Runs: the list, a run in each of its forms, a node with each of its tabs, and the dialogs that steer them.
import { join } from "node:path";
import { Repository } from "../project.mjs";

const gated = { permissions: { cliPermissionsMode: "gated" } };
const request = (name, args) => `request ${JSON.stringify({ name, args })}`;
const TEAM = ["Lead", "Coder", "Tester", "Reviewer of everything that touches uploads"];

/** A run of a team in worktrees, with changes and an open request; a run that has ended; and one that failed. */
async function prepare(stage) {
  stage.scripted();
  new Repository(stage.project, { "docs/index.md": "# Harbour\n" });
  const server = await stage.serve();
  const create = async (fields) => (await server.call("POST", "/api/runs", { run: { cwd: stage.project, mode: "INTERACTIVE", ...fields } })).run;
  const look = async (run) => (await server.call("GET", `/api/runs/${run.id}`)).run;
  const say = async (run, label, content) => {
    const nodeId = Object.values(run.nodes).find((node) => node.label === label).id;
    const before = (await look(run)).usage.turns;
    await server.call("POST", `/api/runs/${run.id}/chat`, { nodeId, content });
    await stage.until(async () => (await look(run)).usage.turns > before);
  };
  const team = await create({
    goal: "Uploads go on where they stopped when the line drops, on every client that we support",
    definitionOfDone: ["Three drops in one upload end well", "The operator's page names the limits"],
    settings: { isolation: "worktree" },
    nodes: TEAM.map((label) => ({ label, provider: "custom", capabilities: { writeCode: true } })),
  });
  await stage.until(async () => (await look(team)).phase === "EXECUTE");
  const ids = Object.fromEntries(Object.values(team.nodes).map((node) => [node.label, node.id]));
  const edges = [["Lead", "Coder"], ["Coder", "Tester"], ["Lead", TEAM[3]]];
  for (const [from, to] of edges) {
    await server.call("POST", `/api/runs/${team.id}/edges`, { edge: { from: ids[from], to: ids[to], bidirectional: false } });
  }
  await say(team, "Lead", "say The server names the next byte; the client sends the rest.");
  await say(team, "Coder", "write src/client.js 12");
  await say(team, "Tester", "write tests.js 4");
  await server.call("PATCH", `/api/runs/${team.id}/nodes/${ids["Lead"]}`, { patch: gated });
  await server.call("POST", `/api/runs/${team.id}/chat`, { nodeId: ids["Lead"], content: request("Bash", { command: "git push origin main" }) });
  const ended = await create({
    name: "Operator's page",
    cwd: join(stage.project, "docs"),
    goal: "Write the operator's page",
    definitionOfDone: ["Limits are described", "Links are checked"],
    checks: [{ name: "links", command: "true" }, { name: "spelling", command: "echo 'upload: unknown word'; false", required: false }],
    nodes: [{ label: "Writer", provider: "custom", capabilities: { writeDocs: true } }],
  });
  await stage.until(async () => (await look(ended)).phase === "EXECUTE");
  await say(ended, "Writer", "write guide.js 6");
  await server.call("PATCH", `/api/runs/${ended.id}`, { patch: { status: "completed" } });
  await stage.until(async () => (await look(ended)).status === "completed");
  return { ...server, team: team.id, ended: ended.id, ids };
}

const inRun = (page, { base, team }, rest = "") => page.goto(`${base}/#/runs/${team}${rest}`);

/** The changes of the team with the worktrees above them. */
async function changesOf(page, world, rest = "") {
  await inRun(page, world, `?mode=changes${rest}`);
  await page.getByRole("list", { name: "Worktrees" }).getByRole("button", { name: "Merge …" }).first().waitFor();
  await page.getByRole("list", { name: "Changed files" }).getByText("client.js").click();
  await page.getByText('const line2 = "2";').first().waitFor();
}

/** A tab of a node. */
const ofNode = (label, tab, wait) => async (page, world) => {
  await inRun(page, world, `/${world.ids[label]}?tab=${tab}`);
  await page.getByRole("complementary", { name: `Node ${label}` }).waitFor();
  await wait(page);
};

/** A dialog that a button of the run opens. */
const dialog = (button, name, hash = "") => async (page, world) => {
  await inRun(page, world, hash);
  await page.getByRole("button", { name: button }).first().click();
  await page.getByRole("dialog", { name }).waitFor();
};

const conversation = (page) => page.getByRole("region", { name: "Conversation" });

export const runViews = {
  prepare,
  views: {
    async list(page, { base }) {
      await page.goto(`${base}/#/runs`);
      await page.getByRole("link", { name: "Operator's page" }).waitFor();
    },
    async "no-matches"(page, { base }) {
      await page.goto(`${base}/#/runs`);
      await page.getByRole("link", { name: "Operator's page" }).waitFor();
      await page.getByLabel("Filter runs").fill("zeppelin");
      await page.getByText("No matches").waitFor();
    },
    async new(page, { base }) {
      await page.goto(`${base}/#/runs?new=1`);
      await page.getByRole("dialog", { name: "New run" }).getByLabel("Provider").first().waitFor();
    },
    async roles(page, { base }) {
      await page.goto(`${base}/#/runs`);
      await page.getByRole("button", { name: "Roles" }).click();
      await page.getByRole("list", { name: "Roles" }).getByRole("button").first().click();
      await page.getByRole("button", { name: "Read", exact: true }).click();
      await page.getByRole("region", { name: "Preview" }).waitFor();
    },
    async delete(page, { base }) {
      await page.goto(`${base}/#/runs`);
      await page.getByRole("button", { name: "Delete Operator's page" }).click();
      await page.getByRole("dialog", { name: "Delete Operator's page?" }).waitFor();
    },
    async graph(page, world) {
      await inRun(page, world);
      await page.locator(".svelte-flow__node").nth(3).waitFor();
    },
    async edge(page, world) {
      await inRun(page, world);
      await page.getByRole("button", { name: "Edge task from Lead to Coder" }).click();
      await page.getByLabel("Label of the edge").waitFor();
    },
    async overview(page, world) {
      await inRun(page, world, "?mode=overview");
      await page.getByRole("table").getByText("files").first().waitFor();
    },
    async timeline(page, world) {
      await inRun(page, world, "?mode=timeline");
      await page.getByRole("list", { name: "Nodes over time" }).getByRole("link").first().waitFor();
    },
    changes: (page, world) => changesOf(page, world),
    turns: (page, world) => changesOf(page, world, "&by=turns"),
    async branch(page, world) {
      await inRun(page, world, "?mode=changes");
      await page.getByRole("button", { name: "Branch …" }).first().click();
      await page.getByRole("dialog", { name: "Make a branch" }).waitFor();
    },
    async revert(page, world) {
      await inRun(page, world, "?mode=changes");
      await page.getByRole("button", { name: "Revert …" }).first().click();
      await page.getByRole("dialog", { name: /^Revert/ }).waitFor();
    },
    async merge(page, world) {
      await inRun(page, world, "?mode=changes");
      await page.getByRole("list", { name: "Worktrees" }).getByRole("button", { name: "Merge …" }).first().click();
      await page.getByRole("dialog", { name: /^Merge the work of/ }).waitFor();
    },
    chat: ofNode("Coder", "chat", (page) => conversation(page).getByText("Written.").first().waitFor()),
    request: ofNode("Lead", "chat", (page) => page.getByRole("button", { name: "Approve", exact: true }).waitFor()),
    node: ofNode("Coder", "overview", (page) => page.getByText("Rights").waitFor()),
    diffs: ofNode("Coder", "diffs", (page) => page.getByText("2 files", { exact: true }).waitFor()),
    tools: ofNode("Coder", "tools", (page) => page.getByText("0 calls").waitFor()),
    handoffs: ofNode("Coder", "handoffs", (page) => page.getByRole("group", { name: "Which handoffs" }).waitFor()),
    prompts: ofNode("Coder", "prompts", (page) => page.getByText(/^#\d+$/).first().waitFor()),
    artifacts: ofNode("Coder", "artifacts", (page) => page.getByLabel("Kind").waitFor()),
    session: ofNode("Coder", "session", (page) => page.getByText("C-Tree").first().waitFor()),
    async full(page, world) {
      await inRun(page, world, `/${world.ids["Coder"]}?mode=full`);
      await conversation(page).getByText("Written.").first().waitFor();
    },
    "add-node": dialog("Add a node", "New node"),
    settings: dialog("Run settings", "Run settings"),
    async "delete-node"(page, world) {
      await inRun(page, world, `/${world.ids["Coder"]}`);
      await conversation(page).getByText("Written.").first().waitFor();
      await page.getByRole("main").press("Delete");
      await page.getByRole("dialog", { name: "Delete Coder?" }).waitFor();
    },
    async ended(page, { base, ended }) {
      await page.goto(`${base}/#/runs/${ended}`);
      await page.getByRole("region", { name: "End of the run" }).getByText("spelling").first().waitFor();
    },
    async reopen(page, { base, ended }) {
      await page.goto(`${base}/#/runs/${ended}`);
      await page.getByRole("button", { name: "Reopen with a message …" }).click();
      await page.getByLabel("What Writer should do next").waitFor();
    },
    async search(page, { base }) {
      await page.goto(`${base}/#/runs`);
      await page.getByRole("link", { name: "Operator's page" }).waitFor();
      await page.keyboard.press("/");
      await page.getByRole("combobox").fill("next byte");
      await page.getByRole("option").filter({ hasText: "next byte" }).first().waitFor();
    },
  },
};
