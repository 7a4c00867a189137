// The page stays correct over a reload and over a restart of the server, in the middle of a stream.
import assert from "node:assert/strict";
import { cpSync, rmSync } from "node:fs";

/** The numbers of a streamed answer on the page, joined. */
async function numbers(page) {
  const text = (await page.locator(".answer").allTextContents()).join(" ");
  return [...text.matchAll(/n(\d+)/g)].map((found) => Number(found[1]));
}

const said = (page) => page.getByRole("region", { name: "Conversation" });

function gapless(found) {
  found.forEach((number, at) => assert.equal(number, at + 1, `a hole or a repeat: ${found.slice(Math.max(0, at - 3), at + 3)}`));
}

export const scenarios = {
  async "a reload in mid-stream misses and repeats nothing"(stage) {
    const server = await stage.withRun();
    const page = await stage.enter(server);
    await page.goto(server.place);
    await server.say("stream 120");
    await said(page).getByText(/n20 n21/).waitFor();
    await page.reload();
    await said(page).getByText(/n119 n120/).waitFor();
    gapless(await numbers(page));
  },

  async "a restart of the server in mid-stream: the page comes back and goes on"(stage) {
    const server = await stage.withRun();
    const page = await stage.enter(server);
    await page.goto(server.place);
    await server.say("stream 4000");
    await said(page).getByText(/n20 n21/).waitFor();
    await server.program.end("SIGKILL");
    await page.getByText("reconnecting").first().waitFor();
    await page.getByRole("alert").getByText("Offline: the server cannot be reached").waitFor();
    await stage.serve(server.port);
    await said(page).getByText(/ended because the server was restarted/).waitFor();
    await page.getByRole("alert").getByText("Offline").waitFor({ state: "detached" });
    gapless(await numbers(page));
    await page.getByRole("button", { name: "Resume" }).click();
    await said(page).getByText(/^Turn 2/).waitFor();
    await page.getByText("reconnecting").first().waitFor({ state: "detached" });
  },

  async "a store that went back is noticed, and the page shows what it holds"(stage) {
    const server = await stage.withRun();
    const page = await stage.enter(server);
    await page.goto(server.place);
    await server.say("say first");
    await said(page).getByText("first", { exact: true }).waitFor();
    await server.program.end();
    cpSync(stage.storage, `${stage.folder}/kept`, { recursive: true });
    const second = await stage.serve(server.port);
    await second.call("PATCH", `/api/runs/${server.run}`, { patch: { status: "running", name: "Renamed since" } });
    await page.getByRole("heading", { name: "Renamed since" }).waitFor();
    await second.program.end();
    rmSync(stage.storage, { recursive: true });
    cpSync(`${stage.folder}/kept`, stage.storage, { recursive: true });
    await stage.serve(server.port);
    await page.getByText("resynchronised").waitFor();
    await page.getByRole("heading", { name: "Browser test" }).waitFor();
    await said(page).getByText("first", { exact: true }).waitFor();
  },
};
