// Searching over everything and opening the results; refused completions; a graph that keeps its node in view.
import assert from "node:assert/strict";

const said = (page) => page.getByRole("region", { name: "Conversation" });
const palette = (page) => page.getByRole("dialog", { name: "Commands and search" });
const found = (page, text) => palette(page).getByRole("option").filter({ hasText: text });

/** A run in which a message was answered and a file written. */
async function withHistory(stage) {
  const server = await stage.withRun();
  const done = async (count) => (await server.call("GET", `/api/runs/${server.run}/turns`)).turns.filter((turn) => turn.status === "completed").length === count;
  await server.say("say the lighthouse keeper counts to seven");
  await stage.until(() => done(1));
  await server.say("write beacon.js 30");
  await stage.until(() => done(2));
  const page = await stage.enter(server);
  return { server, page };
}

async function look(page, words) {
  await page.keyboard.press("/");
  await palette(page).getByRole("combobox").fill(words);
}

export const scenarios = {
  async "a search finds messages and files, and leads to them"(stage) {
    const { server, page } = await withHistory(stage);
    await page.goto(`${server.base}/#/runs/${server.run}`);
    await page.getByRole("heading", { name: "Browser test" }).waitFor();
    await look(page, "Lighthouse KEEPER");
    await found(page, "Message").waitFor();
    await found(page, "Answer").click();
    await said(page).locator('[aria-current="location"]').getByText("the lighthouse keeper counts to seven").waitFor();
    await page.keyboard.press("Escape");
    await look(page, "beacon.js");
    await found(page, "File").click();
    await page.getByRole("tab", { name: "Diffs", selected: true }).waitFor();
    await page.getByText("const line0").first().waitFor();
    await look(page, "transcript");
    await found(page, "Artifact").first().click();
    await page.getByRole("tab", { name: "Artifacts", selected: true }).waitFor();
    await page.locator('li button[aria-expanded="true"]').getByText("transcript").first().waitFor();
    await look(page, "worker");
    await found(page, "implementer").waitFor();
    await look(page, "nothing has these words");
    await palette(page).getByText("Nothing in the store contains all these words.").waitFor();
  },

  async "a search from anywhere looks into all runs"(stage) {
    const { server, page } = await withHistory(stage);
    const other = await server.call("POST", "/api/runs", { name: "Another run", autoStart: false, nodes: [{ label: "Idle", provider: "custom" }] });
    await server.call("POST", `/api/runs/${other.run.id}/chat`, { content: "look at the lighthouse too" });
    await page.goto(`${server.base}/#/runs`);
    await page.getByRole("button", { name: "New run" }).waitFor();
    await look(page, "lighthouse");
    await found(page, "Another run").filter({ hasText: "lighthouse too" }).waitFor();
    assert.ok((await found(page, "Browser test").count()) >= 2, "the message and the answer of the first run");
    await found(page, "lighthouse too").click();
    await page.getByRole("heading", { name: "Another run" }).waitFor();
    // It still waits for a turn.
    await page.getByRole("list", { name: "Queued" }).getByText("look at the lighthouse too").waitFor();
  },

  async "one search finds every kind of thing, and the keyboard leads to it"(stage) {
    const { server, page } = await withHistory(stage);
    const work = (name, body) => server.call("POST", `/api/ops/${name}`, { workspace: "harbour", ...body });
    await work("tasks_create", { title: "Lighthouse plan" });
    await work("tasks_create", { parent: "PLAN-001", title: "Paint the lighthouse" });
    await work("tasks_decompose", { task: "TASK-001", steps: [{ title: "Lighthouse stairs", success_criteria: ["dry"], tests: ["touch"] }] });
    await work("tasks_note", { task: "TASK-001", path: "s:0", note: "the lighthouse lamp is cracked" });
    await server.call("POST", "/sessions", { title: "Lighthouse talk" });
    await server.call("POST", "/api/runs", { name: "Lighthouse run", autoStart: false, nodes: [{ label: "Lighthouse keeper", provider: "custom" }] });
    await page.goto(`${server.base}/#/attention`);
    await page.getByText("Live", { exact: true }).waitFor();
    await page.keyboard.press("Control+k");
    await palette(page).getByRole("combobox").fill("lighthouse");
    const group = (name) => palette(page).getByRole("group", { name });
    const wanted = [
      ["Plans", "Lighthouse plan"],
      ["Tasks", "Paint the lighthouse"],
      ["Steps", "Lighthouse stairs"],
      ["Notes", "the lighthouse lamp is cracked"],
      ["Sessions", "Lighthouse talk"],
      ["Runs", "Lighthouse run"],
      ["Nodes", "Lighthouse keeper"],
      ["Messages", "lighthouse keeper counts"],
    ];
    for (const [name, text] of wanted) await group(name).getByRole("option").filter({ hasText: text }).first().waitFor();
    await group("Steps").getByText("harbour › Lighthouse plan › Paint the lighthouse").waitFor();
    await palette(page).getByRole("combobox").fill("beacon.js");
    await group("Files").getByRole("option").filter({ hasText: "beacon.js" }).waitFor();
    await palette(page).getByRole("combobox").fill("lamp cracked");
    await group("Notes").getByRole("option").waitFor();
    await page.waitForFunction(() => document.querySelectorAll('[role="option"]').length === 1);
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Paint the lighthouse" }).waitFor();
    // What was typed is there again.
    await page.keyboard.press("Control+k");
    assert.equal(await palette(page).getByRole("combobox").inputValue(), "lamp cracked");
    await page.keyboard.type("task-001");
    await group("Tasks").getByRole("option").filter({ hasText: "TASK-001" }).waitFor();
  },

  async "a completion that was refused waits, and is put away on the server"(stage) {
    const server = await stage.withRun({}, { label: "Lead", alias: "lead", roleTemplate: "orchestrator" });
    const { node } = await server.call("POST", `/api/runs/${server.run}/nodes`, { node: { label: "Busy", provider: "custom" } });
    await server.call("POST", `/api/runs/${server.run}/chat`, { nodeId: node.id, content: "stream 3000" });
    const state = async () => (await server.call("GET", `/api/runs/${server.run}`)).run;
    await stage.until(async () => (await state()).nodes[node.id].status === "running");
    const page = await stage.enter(server);
    await server.say("declare it");
    await page.getByRole("heading", { name: /completion refused, work is open: node .* is running/ }).waitFor();
    await page.reload();
    await page.getByRole("heading", { name: /completion refused/ }).waitFor();
    await page.getByRole("article").locator("kbd", { hasText: "x" }).waitFor();
    await page.keyboard.press("x");
    await page.getByText("Nothing needs your attention").waitFor();
    assert.equal((await state()).refusedCompletion, null);
  },

  async "a session leads to its run, however many runs are newer"(stage) {
    const server = await stage.withRun();
    await server.say("say hello");
    await stage.until(async () => (await server.call("GET", "/sessions")).length === 1);
    for (let at = 0; at < 120; at += 1) await server.call("POST", "/api/runs", { name: `Later ${at}`, autoStart: false });
    const page = await stage.enter(server);
    await page.goto(`${server.base}/#/sessions`);
    await page.getByRole("link", { name: /Worker Browser test/ }).click();
    await page.getByRole("link", { name: "Worker of Browser test" }).click();
    await page.getByRole("complementary", { name: "Node Worker" }).waitFor();
  },

  async "the chosen node stays in view when its inspector opens"(stage) {
    const server = await stage.withRun();
    const positions = {};
    for (let at = 0; at < 5; at += 1) {
      const { node } = await server.call("POST", `/api/runs/${server.run}/nodes`, { node: { label: `Far ${at}`, provider: "custom" } });
      positions[node.id] = { x: 260 * at, y: 40 * at };
    }
    await server.call("PATCH", `/api/runs/${server.run}`, { patch: { layout: { positions, viewport: { x: 20, y: 20, zoom: 0.9 } } } });
    const page = await stage.enter(server);
    await page.goto(`${server.base}/#/runs/${server.run}`);
    const card = page.locator(".svelte-flow__node", { hasText: "Far 4" });
    await card.click();
    await page.getByRole("complementary", { name: "Node Far 4" }).waitFor();
    const inside = async () => {
      const [box, room] = [await card.boundingBox(), await page.locator(".run-graph").boundingBox()];
      return box.x >= room.x && box.x + box.width <= room.x + room.width && box.y >= room.y && box.y + box.height <= room.y + room.height;
    };
    await stage.until(inside, 5_000);
  },
};
