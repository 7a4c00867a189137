// Notifications of the browser: turned on by a button, one for what starts to wait, none for what waits already.
import assert from "node:assert/strict";
import { withChecks } from "../project.mjs";

/** Stands for the browser's own notifications, which a browser without a window cannot show. */
function recordNotifications() {
  window.shown = [];
  let permission = "default";
  window.Notification = class {
    static get permission() {
      return permission;
    }
    static async requestPermission() {
      return (permission = "granted");
    }
    constructor(title, { body }) {
      window.shown.push({ title, body });
    }
    close() {}
  };
  document.hasFocus = () => false;
}

export const scenarios = {
  async "a browser notifies of what starts to wait once its button is pressed"(stage) {
    const world = await withChecks(stage);
    const page = await stage.enter(world);
    await page.addInitScript(recordNotifications);
    await page.goto(`${world.base}/#/attention`);
    await page.reload();
    await page.getByText("Nothing needs your attention").waitFor();
    const check = { workspace: "harbour", task: world.task, path: "s:3", checks: ["e2e"], wait_seconds: 20 };
    await page.getByRole("button", { name: "Notify me" }).click();
    await page.getByRole("button", { name: "Notifications are on", pressed: true }).waitFor();
    await world.agent.call("tasks_check", check);
    await page.getByText("Check failed", { exact: true }).first().waitFor();
    await page.waitForFunction(() => window.shown.length > 0);
    const [shown, ...more] = await page.evaluate(() => window.shown);
    assert.equal(shown.title, "Muster: Check failed");
    assert.match(shown.body, /e2e failed/);
    assert.deepEqual(more, []);
    await page.getByRole("button", { name: "Notifications are on" }).click();
    await page.getByRole("button", { name: "Notify me" }).waitFor();
  },
};
