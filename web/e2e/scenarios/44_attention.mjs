// What waits for a person in the work: failed checks, waivers, definitions, protected files, agents that stopped.
import assert from "node:assert/strict";
import { accessible } from "../accessible.mjs";
import { PROTECT, withChecks } from "../project.mjs";

/** A signed-in page at the list. */
async function atAttention(stage, files) {
  const world = await withChecks(stage, files);
  const page = await stage.enter(world);
  await page.goto(`${world.base}/#/attention`);
  await page.getByText("Nothing needs your attention").waitFor();
  const list = page.getByRole("list", { name: "Waiting for you" });
  return { ...world, page, list, detail: page.getByRole("article").first() };
}

export const scenarios = {
  async "a failed check of a step waits, is run again, and is gone when it passes"(stage) {
    const { page, list, detail, agent, repository, task } = await atAttention(stage);
    const check = { workspace: "harbour", task, path: "s:3", checks: ["e2e"], wait_seconds: 20 };
    await agent.call("tasks_check", check);
    await list.getByText("Check failed", { exact: true }).waitFor();
    await list.getByText(/Client goes on by itself: e2e failed, 1 test/).waitFor();
    assert.match(await page.title(), /^\(1\)/);
    await detail.getByText("resume_after_three_drops", { exact: true }).waitFor();
    repository.write("e2e.txt", "resume_after_three_drops ok\nprogress_never_goes_back ok\n");
    repository.hold();
    await list.getByRole("button", { name: "Run again" }).click();
    await detail.getByRole("log").getByText("try 2").waitFor();
    repository.release();
    await page.getByText("Nothing needs your attention").waitFor();
  },

  async "a waiver that an agent asks for is answered with a key"(stage) {
    const { page, list, detail, agent, task, op } = await atAttention(stage);
    const ask = (reason) =>
      agent.call("tasks_check", { workspace: "harbour", task, path: "s:3", checks: ["e2e"], waive: { reason } });
    await ask("There is no browser here");
    await list.getByText(/claude-code 2\.1\.0 asks to set e2e aside: There is no browser here/).waitFor();
    await detail.getByRole("region", { name: "Waiver asked for" }).waitFor();
    await list.locator("kbd").first().waitFor();
    await page.keyboard.press("n");
    await page.getByText("Nothing needs your attention").waitFor();
    await ask("The license server is down");
    await list.getByText("Waiver asked for", { exact: true }).waitFor();
    await list.locator("kbd").first().waitFor();
    await page.keyboard.press("y");
    const dialog = page.getByRole("dialog", { name: "Waive e2e" });
    assert.equal(await dialog.getByLabel("Reason").inputValue(), "The license server is down");
    await dialog.getByRole("button", { name: "Waive" }).click();
    await page.getByText("Nothing needs your attention").waitFor();
    const { steps } = await op("tasks_proof", { task });
    assert.equal(steps.find((step) => step.path === "s:3").checks[0].state, "waived");
  },

  async "changed definitions and protected files wait until a person has decided"(stage) {
    const { page, list, detail, repository, call, op, task } = await atAttention(stage);
    const accepted = repository.read("muster.toml");
    repository.write("muster.toml", `${accepted}${PROTECT}`);
    await list.getByText("Definitions changed", { exact: true }).waitFor();
    await detail.getByText("contracts/**").first().waitFor();
    await detail.getByRole("button", { name: "Accept the changes" }).click();
    await page.getByText("Nothing needs your attention").waitFor();
    await op("tasks_complete", { task, status: "ACTIVE" });
    repository.write("contracts/upload.json", '{ "offset": "string" }\n');
    await list.getByText("Protected files", { exact: true }).waitFor({ timeout: 60_000 });
    await detail.getByText("contracts/upload.json").first().waitFor();
    await detail.getByRole("button", { name: "I have looked at it" }).click();
    await page.getByText("Nothing needs your attention").waitFor();
    assert.equal((await call("GET", "/api/work/protected?workspace=harbour")).seen, true);
  },

  async "an agent that stopped although its checks do not hold waits for a look"(stage) {
    const { page, list, detail, agent, task } = await atAttention(stage);
    await agent.call("tasks_note", { workspace: "harbour", task, path: "s:3", note: "Half way" });
    // The hook refuses three times, then lets the agent go.
    for (let at = 0; at < 4; at += 1) {
      const hook = stage.start(["hook", "stop", "--storage-dir", stage.storage], stage.project, "pipe");
      hook.child.stdin.end("{}");
      assert.equal(await hook.ended, at < 3 ? 2 : 0, hook.output);
    }
    await list.getByText("Agent stopped", { exact: true }).waitFor();
    await list.getByText(/an agent stopped although its checks do not hold: e2e failed/).click();
    await detail.getByText("resume_after_three_drops", { exact: true }).waitFor();
    await detail.getByRole("button", { name: "Open the task" }).click();
    await page.getByRole("heading", { name: "Resume uploads after a lost connection" }).waitFor();
    await page.getByRole("list", { name: "Steps" }).getByText("Three drops in one upload end well").waitFor();
  },

  async "a flaky check can be looked at, and all of it without seeing"(stage) {
    const world = await atAttention(stage, { "lint.txt": "clippy::all flips\n" });
    const { page, list, detail, agent, repository, task } = world;
    const lint = { workspace: "harbour", task, path: "s:4", checks: ["lint"], fresh: true, wait_seconds: 20 };
    await agent.call("tasks_check", lint);
    repository.write(".flip", "");
    await agent.call("tasks_check", lint);
    await list.getByText("Flaky check", { exact: true }).waitFor();
    await list.getByText("Check failed", { exact: true }).waitFor();
    await list.getByText(/lint is flaky/).click();
    await detail.getByText(/it passed 1 time and failed 1 time/).waitFor();
    await accessible(page, "attention with work");
    await page.keyboard.press("Shift+T");
    await accessible(page, "attention with work in the dark");
    await page.setViewportSize({ width: 390, height: 844 });
    const wide = await page.evaluate(() => document.documentElement.scrollWidth);
    assert.ok(wide <= 390, `${wide} px`);
    await page.setViewportSize({ width: 1280, height: 800 });
    await detail.getByRole("button", { name: "Open the task" }).click();
    await page.getByRole("heading", { name: "Resume uploads after a lost connection" }).waitFor();
  },
};
