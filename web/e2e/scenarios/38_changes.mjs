// What a run changed: files turn by turn, comments on lines, worktrees that are merged; the overview and the transcript.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
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
    await page.goto(`${server.base}/#/runs/${server.run}?mode=changes&by=turns`);
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

  async "the files of a run are read against its start, made a branch of, and taken back"(stage) {
    committed(stage);
    const server = await stage.withRun();
    await server.say("write a.js 3");
    await stage.until(async () => (await diffs(server)).length === 1);
    await server.say("write a.js 5");
    await stage.until(async () => (await diffs(server)).length === 2);
    const page = await stage.enter(server);
    await page.goto(`${server.base}/#/runs/${server.run}?mode=changes`);
    const files = page.getByRole("list", { name: "Changed files" });
    await files.getByText("a.js").click();
    const changes = page.getByRole("region", { name: "Changes of a.js" });
    await changes.getByText('const line4 = "4";').waitFor();
    await changes.getByText("+5", { exact: true }).waitFor();
    const authors = changes.getByRole("list", { name: "Who changed it" });
    await authors.getByRole("link", { name: "Worker" }).first().waitFor();
    assert.equal(await authors.getByRole("link", { name: "Worker" }).count(), 2);
    assert.ok((await changes.locator("code .keyword").count()) > 0, "colours");
    await accessible(page, "changes as a whole");
    await changes.getByRole("button", { name: "Mark as viewed" }).click();
    await page.getByText("1 not viewed").waitFor();
    const saved = page.waitForEvent("download");
    await files.getByRole("button", { name: /^Download the patch/ }).click();
    assert.match(readFileSync(await (await saved).path(), "utf8"), /\+const line4 = "4";/);
    await files.getByRole("button", { name: "Branch …" }).click();
    const branch = page.getByRole("dialog", { name: "Make a branch" });
    await branch.getByLabel("Name of the branch").fill("not a name");
    await branch.getByRole("button", { name: "Make the branch" }).click();
    await branch.getByRole("alert").waitFor();
    await branch.getByLabel("Name of the branch").fill("uploads/resume");
    await accessible(page, "a branch that is made");
    await branch.getByRole("button", { name: "Make the branch" }).click();
    await branch.waitFor({ state: "detached" });
    assert.match(String(git(stage.project, "show", "uploads/resume:a.js")), /line4/);
    await changes.getByRole("button", { name: "Revert …" }).click();
    const question = page.getByRole("dialog", { name: "Revert a.js?" });
    assert.equal(await page.evaluate(() => document.activeElement.textContent.trim()), "Cancel");
    await question.getByRole("button", { name: "Revert", exact: true }).click();
    await files.getByText("a.js").waitFor({ state: "detached" });
    assert.equal(existsSync(join(stage.project, "a.js")), false);
    // What the user changed since is not lost.
    stage.write("project/notes.md", "mine\n");
    await page.getByRole("region", { name: "Changes of notes.md" }).getByRole("button", { name: "Revert …" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Revert", exact: true }).click();
    await page.locator(".notices .failed").first().waitFor();
    assert.equal(readFileSync(join(stage.project, "notes.md"), "utf8"), "mine\n");
  },

  async "the work in a worktree is merged on the page"(stage) {
    committed(stage);
    const server = await stage.withRun({ settings: { isolation: "worktree" } }, { capabilities: { writeCode: true } });
    const start = { workspace: "harbour", plan_title: "Uploads", task_title: "Resume uploads", template: "basic-task" };
    const { task_id: task } = (await server.call("POST", "/api/ops/tasks_macro_start", start)).result;
    await server.call("PATCH", `/api/runs/${server.run}`, { patch: { workspace: "harbour", taskId: task } });
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
    await list.getByText("nothing to merge").waitFor();
    assert.match(readFileSync(join(stage.project, "a.js"), "utf8"), /line0/);
    // The task shows the commit of the merge.
    const commit = String(git(stage.project, "rev-parse", "HEAD")).trim();
    await page.goto(`${server.base}/#/work/harbour/${task}?tab=evidence`);
    await page.getByText("Merged the work of Worker into main").waitFor();
    await page.getByText(`commit ${commit}`).waitFor();
  },

  async "the end says how each line is known, which optional check failed, and goes on with a message"(stage) {
    committed(stage);
    const server = await stage.withRun({
      goal: "Write a.js",
      definitionOfDone: ["The links check passes", "It reads well"],
      checks: [{ name: "links", command: "true" }, { name: "spelling", command: "false", required: false }],
    });
    await server.say("write a.js 3");
    await stage.until(async () => (await diffs(server)).length === 1);
    await server.call("PATCH", `/api/runs/${server.run}`, { patch: { status: "completed" } });
    const page = await stage.enter(server, { permissions: ["clipboard-read", "clipboard-write"] });
    await page.goto(`${server.base}/#/runs/${server.run}`);
    const end = page.getByRole("region", { name: "End of the run" });
    await end.getByText("Done; required checks passed, optional ones failed: spelling").waitFor({ timeout: 60_000 });
    const lines = end.getByRole("list", { name: "Done when" });
    await lines.getByText("met, proven").waitFor();
    await lines.getByText("the check links passed").waitFor();
    await lines.getByText("met, claimed").waitFor();
    await end.getByRole("list", { name: "Checks" }).getByText("failed, optional").waitFor();
    await accessible(page, "the end of a run");
    await end.getByRole("button", { name: "Copy the text for a pull request" }).click();
    await stage.until(async () => /## Done when/.test(await page.evaluate(() => navigator.clipboard.readText())));
    await end.getByRole("button", { name: "Look at the changes" }).click();
    await page.getByRole("list", { name: "Changed files" }).getByText("a.js").waitFor();
    await page.goto(`${server.base}/#/runs/${server.run}`);
    await end.getByRole("button", { name: "Have it fixed …" }).click();
    const field = end.getByLabel("What Worker should do next");
    assert.match(await field.inputValue(), /spelling/);
    await field.fill("say fixed");
    await end.getByRole("button", { name: "Reopen and send to Worker" }).click();
    await end.waitFor({ state: "detached" });
    await stage.until(async () => (await server.call("GET", `/api/runs/${server.run}`)).run.usage.turns === 2);
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
    await end.getByText("no check ran").waitFor();
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
