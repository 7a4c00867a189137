// The demo run, watched from the first event to the last and answered from the page.
import assert from "node:assert/strict";
import { byAlias, demo, demoRun } from "../demo.mjs";

export const scenarios = {
  async "the demo run is watched from start to end and answered with one key"(stage) {
    const server = await demo(stage, { pace: 8 });
    const page = await stage.enter(server);
    const run = await demoRun(server);
    await page.goto(`${server.base}/#/runs/${run.id}`);
    for (const label of ["Lead", "Coder", "Tester", "Reviewer"]) await page.getByRole("strong").filter({ hasText: label }).first().waitFor();
    // Every approval is given from the attention list, with its key.
    const over = async () => (await server.call("GET", `/api/runs/${run.id}`)).run.status === "completed";
    const deadline = Date.now() + 90_000;
    let given = 0;
    while (!(await over())) {
      assert.ok(Date.now() < deadline, "the demo did not end");
      const waiting = (await server.call("GET", "/api/approvals")).approvals;
      if (waiting.length > 0) {
        await page.keyboard.press("a");
        const rows = page.getByRole("list", { name: "Waiting for you" }).getByRole("listitem");
        const asks = rows.filter({ has: page.getByRole("button", { name: "Approve", exact: true }) });
        await asks.first().getByRole("button").first().click();
        await page.getByRole("article").locator("kbd", { hasText: "y" }).waitFor();
        await page.keyboard.press("y");
        await stage.until(async () => !(await server.call("GET", "/api/approvals")).approvals.some(({ approval }) => approval.approvalId === waiting[0].approval.approvalId));
        given += 1;
      }
      await new Promise((done) => setTimeout(done, 100));
    }
    assert.ok(given >= 1, "the coder must ask");
    await page.goto(`${server.base}/#/runs/${run.id}`);
    await page.getByText("Completed", { exact: true }).first().waitFor();
    await page.getByRole("button", { name: "checks passed" }).waitFor();
    // The changes can be read, in both layouts.
    await page.goto(`${server.base}/#/runs/${run.id}/${byAlias(run, "coder")}?tab=diffs&mode=full`);
    await page.getByRole("button", { name: /greet\.sh/ }).first().waitFor();
    await page.getByText("Greets a person by name").first().waitFor();
    await page.getByRole("button", { name: "Split" }).click();
    await page.locator(".split").first().waitFor();
    await page.goto(`${server.base}/#/runs/${run.id}?mode=timeline`);
    await page.getByRole("list", { name: "Nodes over time" }).getByRole("link", { name: "◆" }).first().click();
    await page.getByRole("region", { name: "Conversation" }).getByText("write_file").first().waitFor();
  },
};
