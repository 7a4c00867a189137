// Sessions: live updates with todos, a restart of the server, the context tree, accessibility.
import assert from "node:assert/strict";
import { accessible } from "../accessible.mjs";
import { fillSession } from "../content.mjs";

async function atSession(stage, panel = "todos", options = {}) {
  const server = await stage.serve();
  const session = await fillSession(server);
  const page = await stage.page(options);
  await page.goto(server.link);
  await page.getByRole("link", { name: "Sessions" }).click();
  await page.getByRole("link", { name: /Make uploads resumable/ }).click();
  await page.getByText("Now the client side").waitFor();
  if (panel !== "todos") await page.getByRole("tab", { name: panel }).click();
  return { server, page, ...session };
}

export const scenarios = {
  async "a session is watched live while its todos change"(stage) {
    const { page, say, todo, item } = await atSession(stage);
    const todos = page.getByRole("region", { name: "Todos" });
    await todos.getByText("0/4", { exact: true }).last().waitFor();
    await say("tool_call", {
      call_id: "c9",
      tool: "shell",
      call: { name: "shell", arguments: { command: "npm test resume" } },
    });
    await page.getByRole("button", { name: /runs shell npm test resume/ }).waitFor();
    await say("tool_result", {
      call_id: "c9",
      tool: "shell",
      status: "ok",
      error: false,
      success: true,
      result: "3 drops, <img src=x onerror=alert(1)> whole file",
    });
    await page.getByRole("button", { name: /done shell npm test resume/ }).click();
    await page.getByText("3 drops, <img src=x onerror=alert(1)> whole file").waitFor();
    await say("assistant_delta", { message_id: "m9", text: "The client " });
    await say("assistant_delta", { message_id: "m9", text: "goes on by itself." });
    await page.getByText("The client goes on by itself.").waitFor();
    await say("note.todo", {
      todo: todo([
        item("a", "Keep parts on disk", "done"),
        item("b", "Answer where an upload stands", "in_progress"),
        item("c", "Client goes on by itself", "blocked"),
      ]),
    });
    await todos.getByText("1/3", { exact: true }).last().waitFor();
    await todos.getByText("revision 2").waitFor();
    await todos.getByText("Operator's page").waitFor({ state: "detached" });
    await todos.getByRole("button", { name: "blocked Client goes on by itself" }).waitFor();
    await todos.getByRole("button", { name: /^explorer/ }).click();
    await todos.getByText("Read the retry loop").waitFor();
    await todos.getByRole("button", { name: /^main/ }).click();
    await todos.getByRole("button", { name: "History of this list" }).click();
    await todos.getByRole("button", { name: /^r1 / }).click();
    await todos.getByText("Operator's page").waitFor();
  },

  async "a person speaks, and answers what an agent asks for"(stage) {
    const { server, page, id, say } = await atSession(stage);
    await say("permission_request", { request_id: "p1", tool: "shell", kind: "command", summary: "rm -rf build" });
    await page.getByRole("button", { name: "Allow" }).click();
    await page.getByText("allow-once").waitFor();
    await page.getByRole("textbox", { name: "Message" }).fill("Stop after this file.");
    await page.keyboard.press("Enter");
    await page.getByRole("region", { name: "Transcript" }).getByText("Stop after this file.").waitFor();
    await page.getByRole("button", { name: "Interrupt the turn" }).click();
    await page.getByText("interrupted").first().waitFor();
    const { status } = await server.call("GET", `/sessions/${id}`);
    assert.notEqual(status, "failed");
  },

  async "a restart of the server loses and doubles nothing"(stage) {
    const { server, page, id } = await atSession(stage);
    const reach = page.getByRole("main").getByRole("status");
    await reach.getByText("Live").waitFor();
    await server.program.end("SIGKILL");
    await reach.getByText("Reconnecting").waitFor();
    const again = await stage.serve(server.port);
    for (const text of ["First after the restart", "Second after the restart"]) {
      await again.call("POST", `/sessions/${id}/events`, { type: "assistant_message", data: { text } });
    }
    await page.getByText("Second after the restart").waitFor();
    await reach.getByText("Live").waitFor();
    assert.equal(await page.getByText("First after the restart").count(), 1);
    assert.equal(await page.getByText("Now the client side").count(), 1);
    const todos = page.getByRole("region", { name: "Todos" });
    await todos.getByText("Keep parts on disk").waitFor();
    assert.equal(await todos.getByText("stale").count(), 0);
  },

  async "the context tree shows scores and hashes, and follows"(stage) {
    const { server, page, id, say } = await atSession(stage, "C-Tree");
    const tree = page.getByRole("region", { name: "C-Tree" });
    await tree.getByText("Parts are hashed now").waitFor();
    const summary = await server.call("GET", `/sessions/${id}/ctrees`);
    await tree.getByText("Details of the C-Tree").click();
    await tree.getByText(summary.compiler.z3.slice(0, 12)).waitFor();
    await say("assistant_message", { text: "One more leaf", message_id: "m10" });
    await tree.getByRole("button", { name: /assistant One more leaf/ }).click();
    await tree.getByRole("button", { name: "Pin", exact: true }).click();
    await tree.getByRole("button", { name: /One more leaf pinned 1\.00/ }).waitFor();
    await tree.getByRole("button", { name: /letters$/ }).click();
    await page.getByRole("dialog", { name: "Compiled text" }).getByText("## Turn 2").waitFor();
  },

  async "the summary of a C-Tree and the node of a task are shown where the settings say so"(stage) {
    const { server, page } = await atSession(stage, "Tasks");
    const tasks = page.getByRole("list", { name: "Tasks of the session" });
    const nodes = tasks.getByText(/^node node-\d+$/);
    await tasks.getByText("explore-1").waitFor();
    assert.deepEqual([await page.locator("footer").count(), await nodes.count()], [0, 0], "the contract's defaults");
    await server.program.end();
    const on = { enabled: true, showSummary: true, showTaskNode: true };
    stage.write(".breadboard/config.json", JSON.stringify({ ctrees: on }));
    await stage.serve(server.port);
    await page.reload();
    await page.locator("footer").getByText(/nodes · hash/).waitFor();
    await page.getByRole("tab", { name: "Tasks" }).click();
    await nodes.first().waitFor();
  },

  async "a long transcript is drawn in part and still whole"(stage) {
    const { page, say } = await atSession(stage);
    for (let at = 0; at < 300; at += 1)
      await say("assistant_message", { text: `Line ${at} of many`, message_id: `many-${at}` });
    await page.getByText("Line 299 of many").waitFor();
    const drawn = await page.getByText(/Line \d+ of many/).count();
    assert.ok(drawn < 60, `${drawn} rows are drawn`);
    const list = page.getByRole("region", { name: "Transcript" });
    await list.evaluate((box) => (box.scrollTop = 0));
    await page.getByText("Uploads over 100 MB fail").waitFor();
  },

  async "sessions can be used without seeing them"(stage) {
    const { page } = await atSession(stage);
    await accessible(page, "session with todos");
    for (const panel of ["Tasks", "C-Tree"]) {
      await page.getByRole("tab", { name: panel }).click();
      await page
        .getByText(panel === "Tasks" ? "explore-1" : "drop-low-score")
        .first()
        .waitFor();
      await accessible(page, `session with ${panel}`);
    }
    await page.keyboard.press("Shift+T");
    await accessible(page, "session in the dark");
    await page.keyboard.press("u");
    await page.getByRole("heading", { name: "Sessions", exact: true }).waitFor();
    await accessible(page, "list of sessions");
    await page.setViewportSize({ width: 360, height: 740 });
    await accessible(page, "list of sessions on a phone");
  },
};
