// Work: a task closed with proof, history with undo, lists that update live, and accessibility.
import assert from "node:assert/strict";
import { accessible } from "../accessible.mjs";
import { fillWork } from "../content.mjs";

/** A server with work, and a signed-in page at the list. */
async function atWork(stage, place = "", options = {}) {
  const server = await stage.serve();
  const work = await fillWork(server);
  const page = await stage.page(options);
  await page.goto(server.link);
  await page.getByRole("link", { name: "Work" }).waitFor();
  await page.goto(`${server.base}/#/work/${work.workspace}${place}`);
  return { server, page, ...work };
}

export const scenarios = {
  async "a task is closed with proof, and refusals say why"(stage) {
    const { page, op } = await atWork(stage, "?view=board");
    await op("tasks_macro_start", {
      plan_title: "Small things",
      task_title: "Round the totals",
      steps: [
        {
          title: "Round to cents",
          success_criteria: ["No total has three decimals"],
          tests: ["npm test totals"],
          proof_modes: { tests: "require" },
        },
      ],
    });
    await page.getByRole("link", { name: "Round the totals" }).click();
    const step = page.getByRole("list", { name: "Steps" });
    const close = step.getByRole("button", { name: "Close step" });
    await page.getByRole("button", { name: "Complete task" }).click();
    await page.getByRole("alert").getByText("is not confirmed: criteria, tests").waitFor();
    await close.click();
    await step.getByRole("alert").getByText("is not confirmed: criteria, tests").waitFor();
    for (const name of ["Criteria confirmed", "Tests confirmed"]) {
      await step.getByRole("checkbox", { name }).click();
      await step.getByRole("checkbox", { name, checked: true }).waitFor();
    }
    await close.click();
    await step.getByRole("alert").getByText("needs proof of: tests").waitFor();
    await step.getByRole("alert").getByText("Attach proof:").waitFor();
    await step.getByRole("button", { name: "Attach proof of tests" }).click();
    await page.getByLabel("Command that ran").fill("npm test totals");
    await page.getByLabel("Exit code").fill("0");
    await page.getByLabel("Output").fill("12 passing <b>no markup</b>");
    await page.getByRole("button", { name: "Attach", exact: true }).click();
    await step.getByText("Proof attached").waitFor();
    await close.click();
    await page.getByText("1 closed, 0 open").waitFor();
    await page.getByRole("button", { name: "Complete task" }).click();
    await page.getByRole("button", { name: "Complete task" }).waitFor({ state: "detached" });
    await page.keyboard.press("4");
    await page.getByText("12 passing <b>no markup</b>").waitFor();
    const list = await op("tasks_context", { query: "Round the totals" });
    assert.equal(list.tasks[0].status, "DONE");
  },

  async "history is undone and done again"(stage) {
    const { page, op, limits } = await atWork(stage);
    await op("tasks_block", { task: limits, path: "s:0", blocked: true, reason: "Waits for the legal team" });
    await page.goto(`${page.url().split("#")[0]}#/work/harbour/${limits}?tab=history`);
    const operations = page.getByRole("list", { name: "Operations" });
    await operations.getByText("Waits for the legal team").waitFor();
    const blocked = page.getByLabel("Facts").getByText("1 blocked");
    await blocked.waitFor();
    await page.getByRole("button", { name: /^Undo step block/ }).click();
    await blocked.waitFor({ state: "detached" });
    await operations.getByText("Undone", { exact: true }).waitFor();
    const state = async () => (await op("tasks_resume", { task: limits, read_only: true })).steps[0].blocked;
    assert.equal(await state(), false);
    await page.getByRole("button", { name: /^Redo step block/ }).click();
    await blocked.waitFor();
    assert.equal(await state(), true);
  },

  async "board and tree follow agents, and are filtered"(stage) {
    const { page, op, task, limits } = await atWork(stage, "?view=board");
    const column = (name) => page.getByRole("region", { name, exact: true });
    await column("Todo").getByText("Limit what one client").waitFor();
    await op("tasks_complete", { task: limits, status: "ACTIVE" });
    await column("Active").getByText("Limit what one client").waitFor();
    await page.keyboard.press("/");
    await page.keyboard.type("passkeys");
    await page.getByText("Resume uploads").waitFor({ state: "detached" });
    await page.getByText("Passkeys for the admin page").waitFor();
    await page.getByRole("searchbox").fill("");
    await page.keyboard.press("Escape");
    await page.keyboard.press("t");
    const row = page.getByRole("treeitem", { name: "Resume uploads after" });
    await row.focus();
    await page.keyboard.press("ArrowRight");
    await page.getByRole("treeitem", { name: "Keep received parts on disk" }).waitFor();
    await op("tasks_note", { task, path: "s:1", note: "Half way" });
    await op("tasks_verify", { task, path: "s:1", checkpoints: { tests: true } });
    const second = page.getByRole("treeitem", { name: "Answer where an upload stands" });
    await second.getByLabel("Tests: confirmed").waitFor();
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Resume uploads after a lost connection" }).waitFor();
    // Reading does not move an agent's focus.
    const { focus } = await op("tasks_radar", { task });
    assert.notEqual(focus, task);
  },

  async "a restart of the server is seen, and what was missed is fetched"(stage) {
    const { server, page, task } = await atWork(stage, "/TASK-001?step=s:3");
    await page.getByText("Links checked").waitFor();
    const following = page.getByRole("main").getByRole("status");
    await following.getByText("Following", { exact: true }).waitFor();
    await server.program.end("SIGKILL");
    await following.getByText("Not following").waitFor();
    const again = await stage.serve(server.port);
    await again.call("POST", "/api/ops/tasks_note", {
      workspace: "harbour",
      task,
      path: "s:3",
      note: "Said while nobody listened",
    });
    await page.getByText("Said while nobody listened").waitFor();
    await following.getByText("Following", { exact: true }).waitFor();
  },

  async "work can be used without seeing it"(stage) {
    const { page, task, plan } = await atWork(stage, "?view=board");
    await page.getByText("Passkeys for the admin page").waitFor();
    await accessible(page, "board");
    await page.keyboard.press("t");
    await page.getByRole("tree").waitFor();
    await accessible(page, "tree");
    const base = page.url().split("#")[0];
    for (const tab of ["work", "checks", "timeline", "evidence", "reasoning", "history"]) {
      await page.goto(`${base}#/work/harbour/${task}?tab=${tab}`);
      await page.getByRole("tab", { name: tab === "work" ? "Steps" : new RegExp(tab, "i"), selected: true }).waitFor();
      await page.getByRole("heading", { name: "Resume uploads" }).waitFor();
      await accessible(page, `task ${tab}`);
    }
    await page.keyboard.press("Shift+T");
    await accessible(page, "task in the dark");
    await page.goto(`${base}#/work/harbour/${plan}`);
    await page.getByRole("heading", { name: "Upload pipeline" }).waitFor();
    await accessible(page, "plan");
  },

  async "a task says what it waits for and what needs it"(stage) {
    const { page, op, task, limits } = await atWork(stage);
    const title = (await op("tasks_context", { task: limits })).tasks[0].title;
    const facts = page.getByLabel("Facts");
    const goto = (id) => page.goto(`${page.url().split("#")[0]}#/work/harbour/${id}`);
    await goto(task);
    await facts.getByText("Needed by").waitFor();
    await facts.getByRole("link", { name: new RegExp(title) }).click();
    await facts.getByText("Waiting for").waitFor();
    await facts.getByRole("link", { name: new RegExp(task) }).waitFor();
    await op("tasks_edit", { task: limits, depends_on: [] });
    await facts.getByText("Waiting for").waitFor({ state: "detached" });
    await goto(task);
    await facts.getByText("Progress").waitFor();
    await facts.getByText("Needed by").waitFor({ state: "detached" });
  },

  async "long lists of a task are read to their end"(stage) {
    const { page, op } = await atWork(stage);
    const made = await op("tasks_macro_start", { plan_title: "Long", task_title: "Many notes", steps: [{ title: "One", success_criteria: ["x"], tests: ["y"] }] });
    const note = (at) => ({ tool: "tasks_note", args: { task: made.task_id, path: "s:0", note: `note number ${at}.` } });
    for (let from = 0; from < 240; from += 40) {
      const operations = Array.from({ length: 40 }, (_, at) => note(from + at));
      await op("tasks_batch", { operations });
    }
    await page.goto(`${page.url().split("#")[0]}#/work/harbour/${made.task_id}?tab=timeline`);
    await page.getByText("note number 239.").first().waitFor();
    assert.equal(await page.getByText("note number 3.").count(), 0);
    await page.getByRole("button", { name: "Older events" }).click();
    await page.getByText("note number 3.").first().waitFor();
    await page.getByRole("tab", { name: "History" }).click();
    await page.getByRole("button", { name: "Older operations" }).click();
    await page.getByRole("button", { name: "Older operations" }).waitFor({ state: "detached" });
  },
};
