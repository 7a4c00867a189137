// Nothing that a person types is lost: not by looking elsewhere, not by closing a dialog, not by a refusal.
import assert from "node:assert/strict";

const go = (page, hash) => page.evaluate((next) => (location.hash = next), `#/${hash}`);

export const scenarios = {
  async "a message stays with its node while other nodes and views are looked at"(stage) {
    const server = await stage.withRun();
    const { node } = await server.call("POST", `/api/runs/${server.run}/nodes`, { node: { label: "Second", provider: "custom" } });
    const page = await stage.enter(server);
    await go(page, `runs/${server.run}/${server.node}`);
    await page.getByLabel("Message to Worker").fill("say it later");
    await go(page, `runs/${server.run}/${node.id}`);
    const second = page.getByLabel("Message to Second");
    await second.waitFor();
    assert.equal(await second.inputValue(), "", "it is not sent to another node by mistake");
    await page.getByRole("tab", { name: "Overview" }).click();
    await go(page, "work");
    await page.getByText("No plans yet").waitFor();
    await go(page, `runs/${server.run}/${server.node}`);
    const first = page.getByLabel("Message to Worker");
    assert.equal(await first.inputValue(), "say it later");
    await first.press("Enter");
    await page.getByRole("region", { name: "Conversation" }).getByText("it later", { exact: true }).waitFor();
    assert.equal(await first.inputValue(), "");
  },

  async "a new run stays typed when its form is closed, and a team is connected before anybody works"(stage) {
    const server = await stage.withRun();
    const page = await stage.enter(server);
    await go(page, "runs?new=1");
    const form = page.getByRole("dialog", { name: "New run" });
    const goal = form.getByRole("textbox", { name: /^Goal/ });
    await form.getByLabel("Provider").first().waitFor();
    await goal.fill("say hello");
    await form.getByRole("button", { name: "Lead and two workers" }).click();
    await goal.press("Escape");
    await form.waitFor({ state: "detached" });
    await go(page, "runs?new=1");
    await form.waitFor();
    assert.equal(await goal.inputValue(), "say hello");
    await form.getByRole("textbox", { name: /^Folder/ }).fill("/definitely/not/here");
    await form.getByRole("button", { name: "Create and start" }).click();
    await form.getByRole("alert").first().waitFor();
    assert.equal((await server.call("GET", "/api/runs")).runs.length, 1, "a refused run leaves nothing");
    await form.getByRole("textbox", { name: /^Folder/ }).fill(stage.project);
    await form.getByRole("button", { name: "Create and start" }).click();
    await page.getByRole("heading", { name: "say hello" }).waitFor();
    const { runs } = await server.call("GET", "/api/runs");
    const made = runs.find((run) => run.goal === "say hello");
    const events = async () => (await server.call("GET", `/api/runs/${made.id}/events?limit=500`)).events;
    await stage.until(async () => (await events()).some((event) => event.type === "turn.status"));
    const types = (await events()).map((event) => event.type);
    const before = types.slice(0, types.indexOf("turn.status"));
    assert.equal(before.filter((type) => type === "edge.created").length, 2, types.join(" "));
    // The next run starts from an empty form.
    await go(page, "runs?new=1");
    await form.waitFor();
    assert.equal(await goal.inputValue(), "");
  },

  async "what a dialog sends and the server refuses is said in the dialog"(stage) {
    const server = await stage.withRun();
    const page = await stage.enter(server);
    await go(page, `runs/${server.run}/${server.node}?tab=overview`);
    await page.getByRole("button", { name: "Edit", exact: true }).click();
    const dialog = page.getByRole("dialog", { name: "Settings: Worker" });
    const alias = dialog.getByRole("textbox", { name: /^Alias/ });
    await alias.fill("not an alias!");
    await dialog.getByRole("button", { name: "Save" }).click();
    await dialog.getByRole("alert").waitFor();
    assert.equal(await alias.inputValue(), "not an alias!");
    await alias.fill("builder");
    await dialog.getByRole("button", { name: "Save" }).click();
    await dialog.waitFor({ state: "detached" });
  },
};
