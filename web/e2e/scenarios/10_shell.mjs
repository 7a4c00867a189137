// Signing in, navigating, and staying signed in.
import assert from "node:assert/strict";
import { readFileSync, rmSync } from "node:fs";

export const scenarios = {
  async "the printed link signs in, and a restart signs nobody out"(stage) {
    const server = await stage.serve();
    const page = await stage.page();
    await page.goto(server.base);
    await page.getByRole("heading", { name: "Sign in to Muster" }).waitFor();
    await page.goto(server.link);
    await page.reload();
    await page.getByText("Nothing needs your attention").waitFor();
    assert.ok(!page.url().includes("code"), page.url());
    await server.program.end();
    await page.getByText("Reconnecting").or(page.getByText("Offline")).first().waitFor();
    await stage.serve(server.port);
    await page.getByText("Live", { exact: true }).waitFor();
    await page.getByRole("link", { name: "About" }).click();
    await page.getByText("claude mcp add muster").first().waitFor();
  },

  async "a new key signs everybody out"(stage) {
    const server = await stage.serve();
    const page = await stage.enter(server);
    await page.getByText("Live", { exact: true }).waitFor();
    await server.program.end();
    rmSync(`${stage.storage}/person/key`);
    const again = await stage.serve(server.port);
    await page.getByRole("heading", { name: "Sign in to Muster" }).waitFor();
    await page.getByLabel("Key or token").fill(readFileSync(`${stage.storage}/person/key`, "utf8"));
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByText("Live", { exact: true }).waitFor();
    assert.equal(again.port, server.port);
  },

  async "keys, palette and help lead everywhere"(stage) {
    const server = await stage.serve();
    const page = await stage.page();
    await page.goto(server.link);
    await page.getByText("Nothing needs your attention").waitFor();
    await page.keyboard.press("r");
    await page.getByRole("heading", { name: "Runs", exact: true }).waitFor();
    await page.keyboard.press("?");
    await page.getByRole("dialog", { name: "Keyboard shortcuts" }).waitFor();
    await page.keyboard.press("Escape");
    await page.keyboard.press("Control+k");
    await page.getByRole("combobox").fill("sess");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Sessions", exact: true }).waitFor();
  },
};
