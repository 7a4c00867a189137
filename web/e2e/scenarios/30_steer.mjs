// Steering a node from the page: approvals, interrupts, stalls, diffs, and hostile text.
import assert from "node:assert/strict";

/** The conversation, without the graph, which shows the end of it too. */
const said = (page) => page.getByRole("region", { name: "Conversation" });
const gated = { permissions: { cliPermissionsMode: "gated" } };

export const scenarios = {
  async "an approval is edited and approved"(stage) {
    const server = await stage.withRun({}, gated);
    const page = await stage.enter(server);
    await server.say("ask");
    await page.getByRole("button", { name: /Edit arguments/ }).waitFor();
    assert.match(await page.title(), /^\(1\)/);
    await page.getByRole("article").locator("kbd").first().waitFor();
    await page.keyboard.press("e");
    const field = page.getByLabel("Arguments");
    await field.fill('{"to": ');
    await page.getByRole("alert").waitFor();
    await field.fill('{"to": "feature"}');
    await page.keyboard.press("Control+Enter");
    await page.getByText("Nothing needs your attention").waitFor();
    await page.goto(server.place);
    await said(page).getByText('answered modified {"to":"feature"}').waitFor();
  },

  async "a run that waits for its user is loaded once by its view"(stage) {
    const server = await stage.withRun({}, gated);
    const page = await stage.enter(server);
    await server.say("ask");
    await page.getByRole("button", { name: /Edit arguments/ }).waitFor();
    const loads = [];
    page.on("request", (request) => {
      const { pathname } = new URL(request.url());
      if (request.method() === "GET" && pathname === `/api/runs/${server.run}`) loads.push(request.url());
    });
    await page.goto("about:blank");
    await page.goto(server.place);
    await said(page).getByText("ask").first().waitFor();
    await stage.until(async () => /^\(1\)/.test(await page.title()));
    // What follows an answer is news for the list of what waits.
    await page.getByRole("button", { name: /Deny …/ }).click();
    await page.getByLabel("Reason for denying").fill("no");
    await page.getByRole("button", { name: "Deny", exact: true }).click();
    await stage.until(async () => !/^\(1\)/.test(await page.title()));
    assert.equal(loads.length, 1, loads.join("\n"));
  },

  async "an approval is denied with a reason, in the chat itself"(stage) {
    const server = await stage.withRun({}, gated);
    const page = await stage.enter(server);
    await page.goto(server.place);
    await server.say("ask");
    await page.getByRole("button", { name: /Deny …/ }).click();
    await page.getByLabel("Reason for denying").fill("not on a Friday");
    await page.getByRole("button", { name: "Deny", exact: true }).click();
    await said(page).getByText("answered denied null").waitFor();
    await said(page).locator("summary", { hasText: "push" }).click();
    await said(page).getByText("denied by user: not on a Friday").waitFor();
  },

  async "a message is queued and an interrupt ends the turn"(stage) {
    const server = await stage.withRun();
    const page = await stage.enter(server);
    await page.goto(server.place);
    const field = page.getByLabel("Message to Worker");
    await field.fill("stream 2000");
    await page.keyboard.press("Enter");
    await said(page).getByText(/n12 n13/).waitFor();
    await field.fill("say later");
    await page.getByRole("button", { name: /Queue/ }).click();
    await page.getByRole("list", { name: "Queued" }).getByText("say later").waitFor();
    await field.fill("say at once");
    await page.locator(".composer").getByRole("button", { name: "Interrupt" }).click();
    await said(page).getByText(/was interrupted by a person/).waitFor();
    await said(page).getByText(/^at once/).waitFor();
  },

  async "a stall shows its evidence and is resumed"(stage) {
    const server = await stage.withRun();
    const page = await stage.enter(server);
    await page.goto(server.place);
    const field = page.getByLabel("Message to Worker");
    for (let at = 1; at <= 3; at += 1) {
      await field.fill("repeat");
      await page.keyboard.press("Enter");
      await stage.until(async () => (await server.call("GET", `/api/runs/${server.run}/turns`)).turns.filter((turn) => turn.status === "completed").length === at);
    }
    const banner = page.getByRole("alert");
    await banner.getByText("Stalled").waitFor();
    await page.reload();
    await banner.getByRole("button", { name: "Evidence" }).click();
    await banner.getByText("output × 3").waitFor();
    await banner.getByRole("button", { name: "Resume" }).click();
    await banner.waitFor({ state: "detached" });
    await stage.until(async () => (await server.call("GET", `/api/runs/${server.run}`)).run.status === "running");
  },

  async "a diff is read: files, folding, colours, both forms"(stage) {
    const server = await stage.withRun();
    const page = await stage.enter(server);
    await server.say("write big.js 900");
    await page.goto(`${server.place}?tab=diffs&mode=full`);
    await page.getByText("2 files", { exact: true }).waitFor();
    const big = page.getByRole("button", { name: /big\.js/ }).last();
    await big.waitFor();
    assert.equal(await big.getAttribute("aria-expanded"), "false", "a large file is folded");
    await big.click();
    await page.getByText('"0"').first().waitFor();
    assert.ok((await page.locator(".unified").count()) < 200, "only what can be seen is drawn");
    assert.ok((await page.locator("code .keyword").count()) > 0, "colours");
    await page.getByRole("button", { name: "Split" }).click();
    await page.locator(".split").first().waitFor();
  },

  async "text of agents never becomes markup"(stage) {
    const server = await stage.withRun();
    const page = await stage.enter(server);
    await page.goto(server.place);
    await server.say("hostile");
    await page.locator("strong", { hasText: "bold" }).waitFor();
    await page.getByText("<script>window.pwned = 1</script>").first().waitFor();
    assert.equal(await page.evaluate(() => window.pwned), undefined);
    assert.equal(await page.locator('a[href^="javascript"]').count(), 0);
  },

  async "an input that ends its agent waits to be sent again or deleted"(stage) {
    const server = await stage.withRun({ settings: { retryMax: 0 } });
    const page = await stage.enter(server);
    const failed = async (turns) => {
      const { run } = await server.call("GET", `/api/runs/${server.run}`);
      return run.usage.turns === turns && run.nodes[server.node].failedInputs === 1;
    };
    await server.say("die");
    await stage.until(() => failed(1));
    await page.getByRole("heading", { name: /Worker: 1 input failed: its program ended/ }).waitFor();
    await page.goto(server.place);
    const queue = page.getByRole("list", { name: "Queued" });
    await queue.getByText("failed", { exact: true }).waitFor();
    await queue.getByRole("button", { name: "Send again" }).click();
    await stage.until(() => failed(2));
    await queue.getByRole("button", { name: "Delete the failed input" }).click();
    await queue.waitFor({ state: "detached" });
    await page.goto(`${server.base}/#/attention`);
    await page.getByText("Nothing needs your attention").waitFor();
  },

  async "two nodes that keep each other busy are stopped, and the page says so"(stage) {
    const server = await stage.withRun({ settings: { brakeTurns: 4 } });
    const { node } = await server.call("POST", `/api/runs/${server.run}/nodes`, { node: { label: "Second", provider: "custom" } });
    for (const [from, to] of [[server.node, node.id], [node.id, server.node]]) {
      await server.call("POST", `/api/runs/${server.run}/edges`, { edge: { from, to, bidirectional: false } });
    }
    const page = await stage.enter(server);
    await page.goto(`${server.base}/#/runs/${server.run}`);
    await server.say("count");
    const banner = page.getByRole("alert").filter({ hasText: "Stalled" });
    await banner.getByText(/keeps passing tasks back and forth with another node/).waitFor();
    await banner.getByRole("button", { name: "Evidence" }).click();
    await banner.getByText(/brakeTurns/).waitFor();
    await banner.getByRole("button", { name: "Resume" }).click();
    await stage.until(async () => (await server.call("GET", `/api/runs/${server.run}`)).run.usage.turns > 5);
  },

  async "a run is deleted from the list after a question"(stage) {
    const server = await stage.withRun();
    const page = await stage.enter(server);
    await page.goto(`${server.base}/#/runs`);
    await page.getByText("1 node", { exact: true }).waitFor();
    const question = page.getByRole("dialog", { name: "Delete Browser test?" });
    await page.getByRole("button", { name: "Delete Browser test" }).click();
    await question.getByRole("button", { name: "Cancel" }).click();
    await question.waitFor({ state: "detached" });
    await page.getByRole("button", { name: "Delete Browser test" }).click();
    await question.getByRole("button", { name: "Delete" }).click();
    await page.getByText("No runs yet").waitFor();
    await stage.until(async () => (await server.call("GET", "/api/runs")).runs.length === 0);
  },

  async "a run is made from the page, and a node added"(stage) {
    const server = await stage.withRun();
    const page = await stage.enter(server);
    await page.goto(`${server.base}/#/runs`);
    await page.getByRole("button", { name: "New run" }).click();
    await page.getByRole("textbox", { name: /^Goal/ }).fill("say hello");
    await page.getByRole("textbox", { name: /^Name/ }).fill("Made here");
    await page.getByLabel("Provider").first().selectOption("custom");
    await page.getByRole("button", { name: "Create and start" }).click();
    await page.getByRole("heading", { name: "Made here" }).waitFor();
    await page.keyboard.press("Shift+N");
    await page.getByRole("dialog", { name: "New node" }).getByRole("button", { name: "Add" }).click();
    await page.getByRole("strong").filter({ hasText: "Agent 2" }).waitFor();
  },
};
