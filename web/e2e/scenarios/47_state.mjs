// The state of the page: empty views lead on, what was lost is loaded again, and deleting asks first.
import assert from "node:assert/strict";
import { fillSession, fillWork } from "../content.mjs";

const go = (page, hash) => page.evaluate((next) => (location.hash = next), `#/${hash}`);
const PHONE = { viewport: { width: 390, height: 844 } };

export const scenarios = {
  async "empty views lead on"(stage) {
    const server = await stage.serve();
    const page = await stage.enter(server);
    await page.goto(`${server.base}/#/attention`);
    await page.getByText("muster demo").waitFor();
    await page.getByRole("button", { name: "Connect an agent" }).click();
    await page.getByRole("heading", { name: "Connect an agent" }).waitFor();
    for (const view of ["attention", "runs", "sessions"]) {
      await go(page, view);
      await page.getByRole("button", { name: /New run|Start the first run/ }).last().click();
      await page.getByRole("dialog", { name: "New run" }).waitFor();
      await page.keyboard.press("Escape");
      await page.getByRole("dialog", { name: "New run" }).waitFor({ state: "detached" });
    }
    await go(page, "work");
    await page.getByRole("button", { name: "New task" }).click();
    await page.getByRole("dialog", { name: "New task" }).waitFor();
    await page.keyboard.press("Escape");
    for (const goal of ["one", "two", "three", "four"]) {
      await server.call("POST", "/api/runs", { name: goal, cwd: stage.project, autoStart: false });
    }
    await go(page, "attention");
    const latest = page.getByRole("list", { name: "Latest runs" });
    await latest.getByText("four").waitFor();
    assert.equal(await latest.getByRole("listitem").count(), 3);
    await go(page, "runs");
    await page.getByLabel("Filter runs").fill("zeppelin");
    await page.getByRole("button", { name: "Clear the filter" }).click();
    await page.getByText("four", { exact: true }).waitFor();
  },

  async "what could not be loaded is loaded when the server is back, and what was typed stays"(stage) {
    const server = await stage.serve();
    const { workspace } = await fillWork(server);
    const page = await stage.enter(server);
    await go(page, `work/${workspace}?view=board`);
    await page.getByRole("button", { name: "New task" }).click();
    const title = page.getByRole("dialog", { name: "New task" }).getByLabel("Title", { exact: true });
    await title.fill("Count open uploads");
    await server.program.end("SIGKILL");
    const bar = page.getByRole("alert").filter({ hasText: "Offline: the server cannot be reached" });
    await bar.waitFor();
    await page.getByRole("dialog").getByRole("button", { name: "Create task" }).click();
    await page.getByRole("dialog").getByText("nothing was saved; send it again when the server is back").waitFor();
    const again = await stage.serve(server.port);
    await bar.waitFor({ state: "detached" });
    assert.equal(await title.inputValue(), "Count open uploads");
    await page.getByRole("dialog").getByRole("button", { name: "Create task" }).click();
    await page.getByRole("heading", { name: "Count open uploads" }).waitFor();
    // A view that was opened while the server was away.
    await go(page, "attention");
    await page.getByText("Nothing needs your attention").waitFor();
    await again.program.end("SIGKILL");
    await bar.waitFor();
    await go(page, "work");
    await page.waitForTimeout(300);
    assert.equal(await page.getByText("Passkeys for the admin page").count(), 0);
    await stage.serve(server.port);
    await page.getByText("Passkeys for the admin page").waitFor();
  },

  async "a session is deleted after a question whose safe answer has the focus"(stage) {
    const server = await stage.serve();
    const { id } = await fillSession(server);
    const page = await stage.enter(server);
    await go(page, `sessions/${id}`);
    const question = page.getByRole("dialog", { name: "Delete Make uploads resumable?" });
    await page.getByRole("button", { name: "Delete the session" }).click();
    await question.waitFor();
    assert.equal(await page.evaluate(() => document.activeElement.textContent.trim()), "Cancel");
    await page.keyboard.press("Enter");
    await question.waitFor({ state: "detached" });
    assert.equal((await server.call("GET", "/sessions")).length, 1);
    await page.getByRole("button", { name: "Delete the session" }).click();
    await question.getByRole("button", { name: "Delete" }).click();
    await page.getByText("No sessions yet").waitFor();
    assert.equal((await server.call("GET", "/sessions")).length, 0);
  },

  async "a phone shows labels and the list of nodes, and the context tree keeps its details folded"(stage) {
    const server = await stage.withRun();
    const { id } = await fillSession(server);
    const page = await stage.enter(server, PHONE);
    const nav = page.getByRole("navigation", { name: "Main" });
    for (const label of ["Attention", "Runs", "Work", "Projects", "Sessions", "About"]) {
      const { width } = await nav.getByText(label, { exact: true }).boundingBox();
      assert.ok(width > 15, `${label}: ${width} px`);
    }
    await go(page, `runs/${server.run}`);
    await page.getByRole("table").getByRole("button", { name: "Worker" }).waitFor();
    assert.equal(await page.locator("kbd:visible").count(), 0);
    await go(page, `sessions/${id}?panel=tree`);
    await page.getByText("drop-low-score").waitFor();
    const copy = page.getByRole("button", { name: "Copy the hash" });
    assert.equal(await copy.count(), 0, "hashes are details");
    await page.getByText("Details of the C-Tree").click();
    await copy.first().waitFor();
  },
};
