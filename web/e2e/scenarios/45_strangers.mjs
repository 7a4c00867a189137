// Pages on other ports and browsers with fewer rights cannot use a session.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";

const MUSTER = process.env.MUSTER ?? new URL("../../../target/debug/muster", import.meta.url).pathname;

/** A dev server as an agent could start one, on the same host; records what browsers send to it. */
async function devServer() {
  const heard = [];
  const server = createServer((request, response) => {
    heard.push(JSON.stringify([request.url, request.headers]));
    response.setHeader("content-type", "text/html");
    response.end("<!doctype html><title>dev server</title><p>dev server</p>");
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  return { heard, base: `http://127.0.0.1:${server.address().port}`, close: () => server.close() };
}

/** Every request that a page can try from its own origin against an address. */
async function attack(base) {
  const outcome = async (work) => {
    try {
      return await work();
    } catch {
      return "failed";
    }
  };
  const fetched = (path, init) => outcome(async () => (await fetch(base + path, { credentials: "include", ...init })).status);
  const socket = () =>
    new Promise((done) => {
      const line = new WebSocket(base.replace("http", "ws") + "/ws");
      line.onopen = () => done("opened");
      line.onerror = () => done("failed");
    });
  const framed = () =>
    new Promise((done) => {
      const frame = document.createElement("iframe");
      frame.src = base;
      frame.onload = () => {
        let secret = "failed";
        try {
          secret = frame.contentWindow.localStorage.getItem("muster.session") ?? "failed";
        } catch {
          // Another origin.
        }
        done(secret);
      };
      document.body.append(frame);
    });
  const approve = { method: "POST", headers: { "content-type": "application/json" }, body: "{}" };
  return {
    read: await fetched("/api/runs"),
    blind: await fetched("/api/runs", { mode: "no-cors" }).then((status) => (status === 0 ? "failed" : status)),
    approve: await fetched("/api/approvals/x/resolve", approve),
    ticket: await fetched("/api/session/ticket", approve),
    socket: await socket(),
    framed: await framed(),
    cookie: document.cookie || "failed",
    stored: localStorage.getItem("muster.session") ?? "failed",
  };
}

export const scenarios = {
  async "a page on another port of the host gets nothing of the session"(stage) {
    const server = await stage.serve();
    const page = await stage.enter(server);
    await page.getByText("Live", { exact: true }).waitFor();
    const secret = await page.evaluate(() => localStorage.getItem("muster.session"));
    assert.match(secret, /^muster-page\./);
    assert.equal((await page.context().cookies()).length, 0, "there is no cookie to send along");
    const other = await devServer();
    try {
      const tab = await page.context().newPage();
      await tab.goto(other.base);
      const tried = await tab.evaluate(attack, server.base);
      for (const [what, outcome] of Object.entries(tried)) assert.equal(outcome, "failed", what);
      await tab.goto(`${other.base}/again`);
      assert.ok(other.heard.length >= 2 && !other.heard.join().includes(secret.split(".").pop()), "the secret travelled");
    } finally {
      other.close();
    }
    await page.reload();
    await page.getByText("Live", { exact: true }).waitFor();
  },

  async "signing out ends the session, and so does revoking it elsewhere"(stage) {
    const server = await stage.serve();
    const page = await stage.enter(server);
    const { link } = await server.call("POST", "/api/page-links", {});
    const second = await stage.enter({ link });
    await second.getByRole("link", { name: "About" }).click();
    await second.getByRole("button", { name: "Sign out" }).click();
    await page.reload();
    await page.getByRole("heading", { name: "Sign in to Muster" }).waitFor();
    const secret = await second.evaluate(() => localStorage.getItem("muster.session"));
    await second.getByRole("button", { name: "Sign this browser out" }).click();
    await second.getByRole("heading", { name: "Sign in to Muster" }).waitFor();
    const answer = await fetch(`${server.base}/api/about`, { headers: { authorization: `Bearer ${secret}` } });
    assert.equal(answer.status, 401);
  },

  async "a browser with the agents' token sees approvals and why it cannot answer"(stage) {
    const server = await stage.withRun({}, { permissions: { cliPermissionsMode: "gated" } });
    await server.say("ask push");
    await stage.until(async () => (await server.call("GET", "/api/approvals")).approvals.length === 1);
    const page = await stage.page();
    await page.goto(server.base);
    await page.getByLabel("Key or token").fill(readFileSync(`${stage.storage}/token`, "utf8"));
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByText("signed in with the agents' token").first().waitFor();
    assert.equal(await page.getByRole("article").getByRole("button", { name: "Approve" }).count(), 0);
  },

  async "characters that reorder or hide a command are written out where it is approved"(stage) {
    const server = await stage.withRun({}, { permissions: { cliPermissionsMode: "gated" } });
    await server.say("disguise");
    const page = await stage.enter(server);
    const form = page.getByRole("article");
    await form.getByText("echo \\u202ecod.nuf\\u200b", { exact: true }).waitFor();
    await form.getByRole("button", { name: "Edit arguments" }).click();
    assert.match(await form.getByLabel("Arguments").inputValue(), /\\u202ecod\.nuf\\u200b/);
  },

  async "a passphrase is asked for at each sign-in"(stage) {
    const server = await stage.serve();
    const file = stage.write("passphrase", "a long walk at night\n");
    execFileSync(MUSTER, ["passphrase", "set", "--new-from", file, "--storage-dir", stage.storage], { env: { HOME: stage.folder } });
    const page = await stage.page();
    await page.goto(server.link);
    await page.getByLabel("Passphrase").fill("guess");
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByText("the passphrase is wrong").waitFor();
    await page.getByLabel("Passphrase").fill("a long walk at night");
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByText("Live", { exact: true }).waitFor();
  },
};
