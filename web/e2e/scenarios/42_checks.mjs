// Checks on a task: run with live output, cancelled, waived, taken back, asked for by an agent, and accessibility.
import assert from "node:assert/strict";
import { accessible } from "../accessible.mjs";
import { closeFour, withChecks } from "../project.mjs";

/** A signed-in page at the checks of the task. */
async function atChecks(stage, files, options = {}) {
  const world = await withChecks(stage, files);
  const page = await stage.enter(world, options);
  await page.goto(`${world.place}?tab=checks`);
  const check = (name) => page.getByRole("list", { name: "Checks" }).getByRole("listitem", { name: `Check ${name}` });
  await check("tests").waitFor();
  return { ...world, page, check };
}

export const scenarios = {
  async "a check runs with live output, is cancelled, and then proves the task"(stage) {
    const { page, check, repository, op, task } = await atChecks(stage);
    const tests = check("tests");
    await tests.getByText("Never run", { exact: true }).waitFor();
    repository.hold();
    await tests.getByRole("button", { name: "Run: tests" }).click();
    const output = tests.getByRole("log");
    await output.getByText("waiting for the database, try 3").waitFor();
    await tests.getByText(/is running, .* of output so far/).waitFor();
    await tests.getByRole("button", { name: "Cancel" }).click();
    await tests.getByRole("button", { name: "Run: tests" }).waitFor();
    await tests.getByText("Never run", { exact: true }).waitFor();
    await tests.getByRole("button", { name: "Run: tests" }).click();
    await output.getByText("try 2").waitFor();
    repository.release();
    await tests.getByText("Passed", { exact: true }).waitFor();
    await tests.getByText("3 passed, 1 skipped").waitFor();
    await tests.getByText("on these files").waitFor();
    await tests.getByRole("img", { name: "Durations of the last 2 runs" }).waitFor();
    await tests.getByRole("button", { name: "Output" }).click();
    await output.getByText("test parts::survive_kill ... ok").waitFor();
    assert.equal((await op("tasks_proof", { task })).checks[0].state, "passed");
    // A change of its files makes the verdict stale, on its own.
    repository.write("src/upload.rs", "pub struct Upload { offset: u64 }\n");
    await page.reload();
    await tests.getByText("Stale", { exact: true }).waitFor();
    await tests.getByText("on older files").waitFor();
  },

  async "what an agent runs is seen as it runs"(stage) {
    const { page, check, repository, agent, task } = await atChecks(stage);
    repository.hold();
    const call = agent.call("tasks_check", { workspace: "harbour", task, checks: ["tests"], wait_seconds: 20 });
    await check("tests").getByRole("log").getByText("waiting for the database, try 2").waitFor();
    repository.release();
    assert.equal((await call).holds, true);
    await check("tests").getByText("Passed", { exact: true }).waitFor();
    await page.getByRole("tab", { name: /^Checks 1\/3/ }).waitFor();
  },

  async "a failed check is waived with a reason, which is kept when the call fails, and taken back"(stage) {
    const { page, check, program, port } = await atChecks(stage);
    const e2e = check("e2e");
    await e2e.getByRole("button", { name: "Run: e2e" }).click();
    await e2e.getByText("Failed", { exact: true }).waitFor();
    await e2e.getByText("1 passed, 1 failed").waitFor();
    await e2e.getByText("resume_after_three_drops", { exact: true }).waitFor();
    await e2e.getByRole("button", { name: "Waive: e2e" }).click();
    const dialog = page.getByRole("dialog", { name: "Waive e2e" });
    const send = dialog.getByRole("button", { name: "Waive" });
    assert.equal(await send.isDisabled(), true, "a reason is needed");
    await dialog.getByLabel("Reason").fill("The staging proxy is broken");
    await program.end("SIGKILL");
    await send.click();
    await dialog.getByRole("alert").getByText("the server cannot be reached").waitFor();
    assert.equal(await dialog.getByLabel("Reason").inputValue(), "The staging proxy is broken");
    await stage.serve(port);
    await send.click();
    await dialog.waitFor({ state: "detached" });
    await e2e.getByText("Waived", { exact: true }).waitFor();
    await e2e.getByText(/Waived for s:3, for these files, by .+ just now/).waitFor();
    await e2e.getByText("The staging proxy is broken").waitFor();
    await e2e.getByRole("button", { name: /^Take back/ }).click();
    await e2e.getByText("Failed", { exact: true }).waitFor();
    await e2e.getByText("The staging proxy is broken").waitFor({ state: "detached" });
  },

  async "a waiver that an agent asks for is declined, or granted for good"(stage) {
    const { page, check, agent, task } = await atChecks(stage);
    const ask = (reason) =>
      agent.call("tasks_check", { workspace: "harbour", task, path: "s:3", checks: ["e2e"], waive: { reason } });
    await ask("There is no browser here");
    const asked = page.getByRole("region", { name: "Waiver asked for" });
    await asked.getByText("There is no browser here").waitFor();
    await asked.getByText(/claude-code 2\.1\.0 over MCP/).waitFor();
    await asked.getByRole("button", { name: "Decline" }).click();
    await asked.waitFor({ state: "detached" });
    await ask("The license server is down until Monday");
    await asked.getByRole("button", { name: "Waive …" }).click();
    const dialog = page.getByRole("dialog", { name: "Waive e2e" });
    assert.equal(await dialog.getByLabel("Reason").inputValue(), "The license server is down until Monday");
    await dialog.getByLabel(/For good/).check();
    await dialog.getByRole("button", { name: "Waive" }).click();
    await check("e2e").getByText(/Waived for s:3, for good, by/).waitFor();
    await asked.waitFor({ state: "detached" });
  },

  async "closing a step runs its checks, and a refusal says which do not hold"(stage) {
    const { page, place, repository } = await atChecks(stage, { "tests.txt": "parts::survive_kill FAILED\n" });
    await page.goto(`${place}?step=s:0`);
    const steps = page.getByRole("list", { name: "Steps" });
    await steps.getByRole("checkbox", { name: "Criteria confirmed" }).click();
    await steps.getByRole("checkbox", { name: "Criteria confirmed", checked: true }).waitFor();
    await steps.getByRole("button", { name: "Close step" }).click();
    await steps.getByRole("alert").getByText(/tests/).waitFor();
    await steps.getByRole("listitem", { name: "Check tests" }).getByText("Failed", { exact: true }).waitFor();
    repository.write("tests.txt", "parts::survive_kill ok\n");
    repository.hold();
    await steps.getByRole("button", { name: "Close step" }).click();
    await steps.getByRole("button", { name: "Running its checks …" }).waitFor();
    await steps.getByRole("log").getByText("try 2").waitFor();
    repository.release();
    await page.getByText("1 closed, 4 open").waitFor();
    await steps.locator("#step-s\\:0").getByText("Proven", { exact: true }).waitFor();
  },

  async "closed steps look as well backed as they are, on the task, in the lists, and in filters"(stage) {
    const world = await atChecks(stage);
    const { page, place, base } = world;
    await closeFour(world);
    await page.goto(place);
    const steps = page.getByRole("list", { name: "Steps" });
    const row = (path) => steps.locator(`#step-${path.replace(":", "\\:")}`);
    for (const [path, look] of [["s:0", "Proven"], ["s:1", "Evidence"], ["s:2", "Claimed"], ["s:3", "Waived"]]) {
      await row(path).getByText(look, { exact: true }).waitFor();
      await row(path).getByRole("img", { name: `Closed: ${look.toLowerCase()}` }).waitFor();
      await row(path).getByText("claude-code 2.1.0", { exact: true }).waitFor();
    }
    await row("s:2").getByRole("button").last().click();
    await row("s:2").getByText(/Nothing but that word backs it/).waitFor();
    await row("s:2").getByText(/Closed by claude-code 2\.1\.0 over MCP/).waitFor();
    await page.getByRole("group", { name: "Show steps" }).getByRole("button", { name: "Proven 1" }).click();
    await row("s:2").waitFor({ state: "detached" });
    await row("s:0").waitFor();
    await page.goto(`${base}/#/work/harbour?view=board`);
    const counts = page.getByRole("group", { name: "Closed steps" });
    await counts.getByText("1 with evidence").waitFor();
    await counts.getByText("1 claimed").waitFor();
    await page.getByRole("combobox", { name: "Closed steps" }).selectOption("waived");
    await page.getByRole("link", { name: "Resume uploads after" }).waitFor();
    await page.keyboard.press("t");
    const line = page.getByRole("treeitem", { name: "Resume uploads after" });
    await line.focus();
    await page.keyboard.press("ArrowRight");
    await page.getByRole("treeitem", { name: "Client goes on by itself" }).getByText("Waived", { exact: true }).waitFor();
    await world.op("tasks_progress", { task: world.task, path: "s:3", completed: false });
    await page.getByText("No matches").waitFor();
  },

  async "checks can be used without seeing them, in light and dark, wide and on a phone"(stage) {
    const world = await withChecks(stage);
    await closeFour(world);
    await world.agent.call("tasks_check", {
      workspace: "harbour",
      task: world.task,
      checks: ["tests"],
      waive: { reason: "No database here" },
    });
    const page = await stage.enter(world);
    for (const colorScheme of ["light", "dark"]) {
      for (const [width, height] of [[1440, 900], [390, 844]]) {
        await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
        await page.waitForFunction((theme) => document.documentElement.dataset.theme === theme, colorScheme);
        await page.setViewportSize({ width, height });
        for (const place of [`${world.place}?tab=checks`, `${world.place}?step=s:3`, `${world.base}/#/projects`]) {
          await page.goto(place);
          await page.getByText(/^(e2e|Needed by.*)/).first().waitFor();
          await accessible(page, `${place} ${colorScheme} ${width}`);
          const wide = await page.evaluate(() => document.documentElement.scrollWidth);
          assert.ok(wide <= width, `${place}: ${wide} px of ${width}`);
        }
      }
    }
  },
};
