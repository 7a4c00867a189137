// Starting runs by hand: the form explains itself, asks by default, and is filled in from a task.
import assert from "node:assert/strict";
import { accessible } from "../accessible.mjs";
import { withChecks } from "../project.mjs";

export const scenarios = {
  async "a run needs a goal, asks by default, and is named by its goal"(stage) {
    const server = await stage.withRun();
    const page = await stage.enter(server);
    await page.goto(`${server.base}/#/runs`);
    await page.getByRole("button", { name: "New run" }).waitFor();
    await page.keyboard.press("Shift+N");
    const form = page.getByRole("dialog", { name: "New run" });
    // The only installed program is chosen already.
    await form.getByLabel("Provider").waitFor();
    assert.equal(await form.getByLabel("Provider").inputValue(), "custom");
    await form.getByRole("button", { name: "Create and start" }).click();
    await form.getByText("Say what the agents should reach.").waitFor();
    await form.getByRole("textbox", { name: /^Goal/ }).fill("say hello to every visitor of the new harbour page today");
    await form.getByLabel("Max turns").fill("0");
    await form.getByRole("button", { name: "Create and start" }).click();
    await form.getByText("Limits are whole numbers above zero").waitFor();
    await form.getByLabel("Max turns").fill("7");
    await form.getByRole("textbox", { name: /^Folder/ }).fill("/definitely/not/here");
    await form.getByRole("button", { name: "Create and start" }).click();
    await form.getByRole("alert").waitFor();
    await form.getByRole("textbox", { name: /^Folder/ }).fill(stage.project);
    await form.getByText("its request waits in Attention").waitFor();
    await accessible(page, "new run");
    await form.getByRole("switch", { name: /without asking/ }).click();
    await form.getByText("Nobody looks at it first").waitFor();
    await form.getByRole("switch", { name: /without asking/ }).click();
    await form.getByRole("button", { name: "Create and start" }).click();
    await page.getByRole("heading", { name: "say hello to every visitor of the new …" }).waitFor();
    const { runs } = await server.call("GET", "/api/runs?view=full");
    const run = runs.find((one) => one.goal?.startsWith("say hello"));
    assert.equal(Object.values(run.nodes)[0].permissions.cliPermissionsMode, "gated");
    assert.equal(run.budget.maxTurns, 7);
    await page.getByRole("link", { name: "All runs" }).click();
    await page.getByRole("link", { name: /say hello to every visitor/ }).waitFor();
    await page.getByText(stage.project.split("/").slice(-2).join("/")).first().waitFor();
  },

  async "agents are started on a task, and both lead to each other"(stage) {
    const world = await withChecks(stage);
    const page = await stage.enter(world);
    await page.goto(`${world.base}/#/work/harbour/${world.task}`);
    await page.getByRole("button", { name: "Run agents on this" }).click();
    const form = page.getByRole("dialog", { name: "New run" });
    await form.getByRole("link", { name: "Resume uploads after a lost connection" }).waitFor();
    assert.match(await form.getByRole("textbox", { name: /^Goal/ }).inputValue(), /^Resume uploads after a lost connection/);
    assert.match(await form.getByRole("textbox", { name: /^Done when/ }).inputValue(), /Three drops in one upload end well/);
    assert.equal(await form.getByRole("textbox", { name: /^Folder/ }).inputValue(), stage.project);
    assert.ok((await form.getByRole("textbox", { name: "Command" }).count()) > 0, "the checks of the project are filled in");
    await accessible(page, "new run for a task");
    const { run } = await world.call("POST", "/api/runs", {
      goal: "Resume uploads",
      cwd: stage.project,
      workspace: "harbour",
      taskId: world.task,
      autoStart: false,
    });
    await page.goto(`${world.base}/#/work/harbour/${world.task}`);
    await page.getByRole("list", { name: "Runs" }).getByRole("link", { name: "Resume uploads" }).click();
    await page.getByRole("heading", { name: "Resume uploads" }).waitFor();
    await page.getByRole("link", { name: `for ${world.task}` }).click();
    await page.getByRole("button", { name: "Run agents on this" }).waitFor();
    assert.ok(run.id);
  },
};
