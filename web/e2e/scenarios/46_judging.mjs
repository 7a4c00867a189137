// Judging requests: rows say what would happen, opened items show it whole, keys cannot hit the wrong one.
import assert from "node:assert/strict";
import { accessible } from "../accessible.mjs";

const gated = { permissions: { cliPermissionsMode: "gated" } };
const request = (name, args) => `request ${JSON.stringify({ name, args })}`;

/** A run whose nodes each ask for one call; a signed-in page at the list. */
async function asking(stage, calls, options = {}) {
  const server = await stage.withRun({}, { ...gated, label: "Node 1" });
  const nodes = [server.node];
  for (let at = 1; at < calls.length; at += 1) {
    const { node } = await server.call("POST", `/api/runs/${server.run}/nodes`, {
      node: { label: `Node ${at + 1}`, provider: "custom", ...gated },
    });
    nodes.push(node.id);
  }
  const pending = async () => (await server.call("GET", "/api/approvals")).approvals;
  for (const [at, content] of calls.entries()) {
    await server.call("POST", `/api/runs/${server.run}/chat`, { nodeId: nodes[at], content });
    await stage.until(async () => (await pending()).length === at + 1);
  }
  const page = await stage.enter(server, options);
  await page.goto(`${server.base}/#/attention`);
  const list = page.getByRole("list", { name: "Waiting for you" });
  const detail = page.getByRole("article");
  return { ...server, page, list, detail, pending };
}

export const scenarios = {
  async "rows say what would happen, and opened items show all of it"(stage) {
    stage.write("project/notes.txt", "one\ntwo\nthree\n");
    const long = Array.from({ length: 150 }, (_, at) => `line ${at + 1}`).join("\n");
    const { page, list, detail } = await asking(stage, [
      request("Bash", { command: "rm -rf build && make", description: "Clean build" }),
      request("Write", { file_path: "docs/guide.md", content: `${long}\n` }),
      request("Edit", { file_path: "src/a.rs", old_string: "let a = 1;\nlet b = 2;", new_string: "let a = 1;\nlet b = 3;" }),
      request("mcp__tracker__close_issue", { number: 12, comment: "Fixed" }),
      request("Write", { file_path: "notes.txt", content: "one\n2\nthree\n" }),
    ]);
    await list.getByText("Run rm -rf build && make").waitFor();
    await list.getByText("Write docs/guide.md +150 −0").waitFor();
    await list.getByText("Edit src/a.rs +1 −1").waitFor();
    await list.getByText("tracker · close issue: number 12, comment Fixed").waitFor();
    await detail.getByText(stage.project).waitFor();
    await accessible(page, "a command that waits");
    await list.getByText("Write docs/guide.md").click();
    await detail.getByText("line 150", { exact: false }).waitFor();
    await list.getByText("Write notes.txt").click();
    await detail.getByText("− two").waitFor();
    await detail.getByText("+ 2").waitFor();
    await list.getByText("Edit src/a.rs").click();
    await detail.getByText("− let b = 2;").waitFor();
    await detail.getByText("+ let b = 3;").waitFor();
    await list.getByText("tracker · close issue").click();
    await detail.getByText("comment", { exact: true }).waitFor();
    await detail.getByRole("button", { name: "Json" }).click();
    await detail.getByText('"comment": "Fixed"').waitFor();
    await accessible(page, "fields that wait");
    await page.setViewportSize({ width: 390, height: 844 });
    assert.equal(await page.locator("kbd:visible").count(), 0, "a phone shows no keys");
    const wide = await page.evaluate(() => document.documentElement.scrollWidth);
    assert.ok(wide <= 390, `${wide} px`);
  },

  async "y pressed three times approves one request"(stage) {
    const { page, list, detail, pending } = await asking(stage, [
      request("Bash", { command: "echo one" }),
      request("Bash", { command: "echo two" }),
      request("Bash", { command: "echo three" }),
    ]);
    await list.getByText("Run echo three").waitFor();
    await detail.locator("kbd").first().waitFor();
    for (let at = 0; at < 3; at += 1) await page.keyboard.press("y");
    await stage.until(async () => (await pending()).length === 2);
    await list.getByText("Run echo one").waitFor({ state: "detached" });
    await detail.getByRole("heading", { name: "Run echo two" }).waitFor();
    await page.keyboard.press("y");
    assert.equal((await pending()).length, 2);
    // The person moves on, and the open item stays open while others come and go.
    await detail.locator("kbd").first().waitFor();
    await page.keyboard.press("j");
    await detail.getByRole("heading", { name: "Run echo three" }).waitFor();
    const [{ approval }] = await pending();
    await page.evaluate(() => undefined);
    assert.equal(approval.tool.args.command, "echo two");
    await page.keyboard.press("y");
    await stage.until(async () => (await pending()).length === 1);
    assert.equal((await pending())[0].approval.tool.args.command, "echo two");
  },

  async "a request is always allowed until its rule is removed"(stage) {
    const again = request("Bash", { command: "cargo test -p harbour uploads" });
    const world = await asking(stage, [again]);
    const { page, detail, list, pending, run, call } = world;
    const { nodes } = (await call("GET", `/api/runs/${run}`)).run;
    const ask = () => call("POST", `/api/runs/${run}/chat`, { nodeId: Object.keys(nodes)[0], content: again });
    await list.getByText("Run cargo test -p harbour uploads").waitFor();
    await detail.getByRole("button", { name: "Always allow …" }).click();
    const form = detail.getByRole("form", { name: "Always allow" });
    await form.getByText("commands that begin with").first().waitFor();
    await form.getByText("for Node 1 in this run").waitFor();
    await accessible(page, "a rule that is made");
    await form.getByText(/for all nodes of/).click();
    await form.getByRole("button", { name: "Approve, and always allow" }).click();
    await page.getByText("Nothing needs your attention").waitFor();
    await ask();
    await page.goto(`${world.base}/#/runs/${run}/${Object.keys(nodes)[0]}`);
    const said = page.getByRole("region", { name: "Conversation" });
    await stage.until(async () => (await said.getByText("answered approved null").count()) === 2);
    await page.goto(`${world.base}/#/attention`);
    await page.getByRole("button", { name: "Rules" }).click();
    const rules = page.getByRole("dialog", { name: "Rules" });
    await rules.getByText("used 1 time").waitFor();
    await rules.getByText("cargo test").waitFor();
    await accessible(page, "rules");
    await rules.getByRole("button", { name: "Remove" }).click();
    await rules.getByText("Nothing is allowed without asking").waitFor();
    await rules.getByRole("button", { name: "Close" }).last().click();
    await ask();
    await list.getByText("Run cargo test -p harbour uploads").waitFor();
    assert.equal((await pending()).length, 1);
  },

  async "a failure says why, and can be hidden"(stage) {
    const server = await stage.withRun({}, { label: "Weak" });
    const page = await stage.enter(server);
    await page.goto(`${server.base}/#/attention`);
    await page.getByText("Nothing needs your attention").waitFor();
    await page.getByRole("list", { name: "Latest runs" }).getByText("Browser test").waitFor();
    await accessible(page, "nothing waits");
    await server.say("die");
    const list = page.getByRole("list", { name: "Waiting for you" });
    await list.getByRole("listitem").first().waitFor({ timeout: 60_000 });
    assert.equal(await list.getByRole("listitem").count(), 1);
    await list.getByRole("button", { name: "Hide" }).click();
    await page.getByText("Nothing needs your attention").waitFor();
    await page.getByRole("button", { name: "Show 1 hidden" }).click();
    await list.getByRole("listitem").first().waitFor();
  },
};
