// What a run changed: files turn by turn, comments on lines, worktrees that are merged; the overview and the transcript.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { accessible } from "../accessible.mjs";

const git = (cwd, ...words) =>
  execFileSync("git", ["-c", "user.name=Ada", "-c", "user.email=ada@example.org", ...words], { cwd });

/** A project with one commit, so that worktrees can be made. */
function committed(stage) {
  stage.write("project/README.md", "# Harbour\n");
  git(stage.project, "init", "--quiet", "--initial-branch=main");
  git(stage.project, "add", "--all");
  git(stage.project, "commit", "--quiet", "--message=start");
}

const diffs = async (server) => (await server.call("GET", `/api/runs/${server.run}/artifacts?kind=diff`)).artifacts;

export const scenarios = {
  async "changed files are read, marked, and commented on"(stage) {
    committed(stage);
    const server = await stage.withRun();
    await server.say("write a.js 3");
    await stage.until(async () => (await diffs(server)).length === 1);
    const page = await stage.enter(server);
    await page.goto(`${server.base}/#/runs/${server.run}?mode=changes`);
    const files = page.getByRole("list", { name: "Changed files" });
    await files.getByText("notes.md").waitFor();
    await files.getByText("a.js").click();
    const changes = page.getByRole("region", { name: "Changes of a.js" });
    await changes.getByText('const line2 = "2";').waitFor();
    await changes.getByRole("link", { name: "Worker" }).waitFor();
    await accessible(page, "changes");
    await changes.getByRole("button", { name: "Mark as viewed" }).click();
    await page.getByText("1 not viewed").waitFor();
    await page.getByRole("button", { name: "Split" }).click();
    await changes.locator(".split").waitFor();
    await changes.getByRole("button", { name: "Comment on line 2" }).click();
    await page.getByLabel("Comment for Worker").fill("say better names please");
    await page.getByRole("button", { name: "Send to Worker" }).click();
    await page.goto(server.place);
    const said = page.getByRole("region", { name: "Conversation" });
    await said.getByText("About a.js, line 2:").waitFor();
    // The overview is a table, on a phone a list.
    await page.goto(`${server.base}/#/runs/${server.run}?mode=overview`);
    await page.getByRole("table").getByText("2 files").waitFor();
    await accessible(page, "overview");
    await page.setViewportSize({ width: 390, height: 844 });
    await page.goto(`${server.base}/#/runs/${server.run}`);
    await page.getByRole("button", { name: "Worker" }).waitFor();
    assert.equal(await page.locator(".run-graph").count(), 0, "a phone shows the list of nodes");
  },

  async "the work in a worktree is merged on the page"(stage) {
    committed(stage);
    const server = await stage.withRun({ settings: { isolation: "worktree" } }, { capabilities: { writeCode: true } });
    await server.say("write a.js 3");
    await stage.until(async () => (await diffs(server)).length === 1);
    const page = await stage.enter(server);
    await page.goto(`${server.base}/#/runs/${server.run}?mode=changes`);
    const list = page.getByRole("list", { name: "Worktrees" });
    await list.getByText(/2 files would go to/).waitFor();
    await accessible(page, "worktrees");
    await list.getByRole("button", { name: "Merge …" }).click();
    const question = page.getByRole("dialog", { name: "Merge the work of Worker?" });
    await question.getByText("a.js, notes.md").waitFor();
    await question.getByRole("button", { name: "Merge" }).click();
    await list.getByText("merged", { exact: true }).waitFor();
    assert.match(readFileSync(join(stage.project, "a.js"), "utf8"), /line0/);
  },

  async "a turn is one line, and a run that ended is opened again by a message"(stage) {
    const server = await stage.withRun();
    await server.say("say hello");
    const page = await stage.enter(server);
    await page.goto(server.place);
    const said = page.getByRole("region", { name: "Conversation" });
    await said.getByText("hello", { exact: true }).waitFor();
    await said.getByText(/^Turn 1 · /).waitFor();
    assert.equal(await said.getByText(/^Turn/).count(), 1);
    // Nothing was changed, so no diff is mentioned.
    assert.equal(await said.getByText("Changed:").count(), 0);
    await server.call("PATCH", `/api/runs/${server.run}`, { patch: { status: "completed" } });
    await page.getByRole("button", { name: "Reopen and send" }).waitFor();
    const end = page.getByRole("region", { name: "End of the run" });
    await end.getByText("Declared done by you; no check ran").waitFor();
    await accessible(page, "end of a run");
    await page.getByLabel("Message to Worker").fill("say again");
    await page.keyboard.press("Enter");
    await said.getByText("again", { exact: true }).waitFor();
    const edge = page.getByRole("separator", { name: "Width of the pane" });
    const before = Number(await edge.getAttribute("aria-valuenow"));
    await edge.focus();
    await page.keyboard.press("ArrowLeft");
    assert.equal(Number(await edge.getAttribute("aria-valuenow")), before + 2);
  },
};
