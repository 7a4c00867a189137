// Using the graph: connecting, moving, modes and keys.
import assert from "node:assert/strict";

async function withTwo(stage) {
  const server = await stage.withRun();
  const { node } = await server.call("POST", `/api/runs/${server.run}/nodes`, { node: { label: "Second", provider: "custom" } });
  const page = await stage.enter(server);
  await page.goto(`${server.base}/#/runs/${server.run}`);
  const card = (label) => page.locator(".svelte-flow__node", { hasText: label });
  await card("Second").waitFor();
  return { server, page, card, second: node.id };
}

async function drag(page, from, to) {
  await page.mouse.move(from.x, from.y);
  await page.mouse.down();
  await page.mouse.move((from.x + to.x) / 2, (from.y + to.y) / 2, { steps: 5 });
  await page.mouse.move(to.x, to.y, { steps: 5 });
  await page.mouse.up();
}

const middle = async (locator) => {
  const box = await locator.boundingBox();
  return { x: box.x + box.width / 2, y: box.y + box.height / 2 };
};

export const scenarios = {
  async "a drag from port to port joins nodes, and the edge is changed and deleted"(stage) {
    const { server, page, card } = await withTwo(stage);
    await drag(page, await middle(card("Worker").locator('[data-handleid="bottom"]')), await middle(card("Second").locator('[data-handleid="top"]')));
    const edges = async () => Object.values((await server.call("GET", `/api/runs/${server.run}`)).run.edges);
    await stage.until(async () => (await edges()).length === 1);
    await page.getByRole("button", { name: "Edge task" }).click();
    await page.getByLabel("Label of the edge").fill("review");
    await page.keyboard.press("Enter");
    await stage.until(async () => (await edges())[0].label === "review");
    await page.getByRole("button", { name: "Delete the edge" }).click();
    await stage.until(async () => (await edges()).length === 0);
  },

  async "an edge has a name, and Escape closes its bar"(stage) {
    const { server, page, second } = await withTwo(stage);
    await server.call("POST", `/api/runs/${server.run}/edges`, { edge: { from: server.node, to: second, bidirectional: false } });
    await page.getByRole("button", { name: "Edge task from Worker to Second" }).click();
    const bar = page.getByRole("group", { name: "Edge task from Worker to Second" }).filter({ has: page.getByLabel("Label of the edge") });
    await bar.waitFor();
    // An event that arrives meanwhile does not move the focus.
    await server.say("say hello");
    await stage.until(async () => (await server.call("GET", `/api/runs/${server.run}/turns`)).turns[0]?.status === "completed");
    await page.keyboard.press("Escape");
    await bar.waitFor({ state: "detached" });
    await page.getByRole("button", { name: "Edge task from Worker to Second" }).click();
    await page.getByLabel("Label of the edge").press("Escape");
    await bar.waitFor({ state: "detached" });
  },

  async "where a node was put is where it stays"(stage) {
    const { server, page, card } = await withTwo(stage);
    const from = await middle(card("Second").locator("strong"));
    await drag(page, from, { x: from.x + 160, y: from.y + 90 });
    await stage.until(async () => Object.keys((await server.call("GET", `/api/runs/${server.run}`)).run.layout.positions).length > 0);
    const before = await card("Second").boundingBox();
    await page.reload();
    await card("Second").waitFor();
    await stage.until(async () => Math.abs((await card("Second").boundingBox()).x - before.x) < 3, 5_000);
  },

  async "a node that is added moves no other, and the timeline shows waiting apart from working"(stage) {
    const server = await stage.withRun({}, { permissions: { cliPermissionsMode: "gated" } });
    const page = await stage.enter(server);
    await page.goto(`${server.base}/#/runs/${server.run}`);
    const card = (label) => page.locator(".svelte-flow__node", { hasText: label });
    await card("Worker").waitFor();
    const place = (label) => card(label).evaluate((node) => node.style.transform);
    const before = await place("Worker");
    const add = (label) => server.call("POST", `/api/runs/${server.run}/nodes`, { node: { label, provider: "custom" } });
    for (const label of ["Second", "Third", "Fourth"]) {
      const { node } = await add(label);
      await server.call("POST", `/api/runs/${server.run}/edges`, { edge: { from: server.node, to: node.id, bidirectional: false } });
      await card(label).waitFor();
    }
    assert.equal(await place("Worker"), before);
    await server.say("ask");
    await stage.until(async () => (await server.call("GET", "/api/approvals")).approvals.length === 1);
    await page.keyboard.press("t");
    const lanes = page.getByRole("list", { name: "Nodes over time" });
    await lanes.getByRole("img", { name: /^Waited for an answer: push/ }).waitFor();
    await lanes.getByRole("link", { name: /^Turn 1 / }).waitFor();
  },

  async "keys change the mode, walk along edges and steer"(stage) {
    const { server, page, card, second } = await withTwo(stage);
    await server.call("POST", `/api/runs/${server.run}/edges`, { edge: { from: server.node, to: second, bidirectional: false } });
    await card("Worker").click();
    await page.getByRole("complementary", { name: "Node Worker" }).waitFor();
    await page.keyboard.press("o");
    await page.getByRole("complementary", { name: "Node Second" }).waitFor();
    await page.keyboard.press("i");
    await page.getByRole("complementary", { name: "Node Worker" }).waitFor();
    await page.keyboard.press("f");
    await page.locator(".svelte-flow").waitFor({ state: "detached" });
    await page.keyboard.press("Escape");
    await page.keyboard.press("Shift+F");
    await page.getByRole("table").waitFor();
    await page.keyboard.press("Escape");
    await page.keyboard.press("Space");
    await stage.until(async () => (await server.call("GET", `/api/runs/${server.run}`)).run.status === "paused");
    await page.keyboard.press("Shift+D");
    await card("Worker copy").waitFor();
    await page.keyboard.press("Delete");
    await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
    await stage.until(async () => Object.keys((await server.call("GET", `/api/runs/${server.run}`)).run.nodes).length === 2);
    await stage.until(async () => (await card("Worker").count()) === 1);
  },
};
