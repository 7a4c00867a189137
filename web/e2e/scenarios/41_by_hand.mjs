// Work by hand: a person creates, edits, moves and completes plans and tasks on the page alone.
import assert from "node:assert/strict";
import { accessible } from "../accessible.mjs";
import { fillWork } from "../content.mjs";

const LIST = ["- [ ] Draw the table", "  - every row has a total", "  - test: npm test table", "- [ ] Print it"].join("\n");

/** Pastes text into the focused field. */
const paste = (page, text) =>
  page.evaluate((words) => {
    const data = new DataTransfer();
    data.setData("text/plain", words);
    document.activeElement.dispatchEvent(new ClipboardEvent("paste", { clipboardData: data, bubbles: true, cancelable: true }));
  }, text);

async function atBoard(stage, options = {}) {
  const server = await stage.serve();
  const work = await fillWork(server);
  const page = await stage.enter(server, options);
  await page.goto(`${server.base}/#/work/${work.workspace}?view=board`);
  await page.getByText("Limit what one client").waitFor();
  return { server, page, ...work };
}

export const scenarios = {
  async "the first task of an empty store is typed on the page"(stage) {
    const server = await stage.serve();
    const page = await stage.enter(server);
    await page.goto(`${server.base}/#/work`);
    await page.getByRole("heading", { name: "No plans yet" }).waitFor();
    await accessible(page, "no work");
    await page.getByLabel("Workspace").fill("press");
    await page.getByRole("button", { name: "New task" }).click();
    const form = page.getByRole("dialog", { name: "New task" });
    await form.getByRole("button", { name: "Create task" }).click();
    await form.getByText("Enter a title.").waitFor();
    await form.getByText("Enter the title of the new plan").waitFor();
    await form.getByLabel("Title", { exact: true }).fill("Print invoices");
    await form.getByLabel("Title of the new plan").fill("Invoices");
    await form.getByLabel("Priority").selectOption("HIGH");
    await form.getByLabel("Tags").fill("print, billing");
    await form.getByLabel("Step 1", { exact: true }).focus();
    await paste(page, LIST);
    await form.getByLabel("Step 2", { exact: true }).waitFor();
    assert.equal(await form.getByLabel("Step 2", { exact: true }).inputValue(), "Print it");
    assert.equal(await form.getByLabel("Done when").first().inputValue(), "every row has a total");
    await accessible(page, "new task");
    await form.getByLabel("Tags").fill("x".repeat(101));
    await form.getByRole("button", { name: "Create task" }).click();
    await form.getByText("A tag has at most 100 characters.").waitFor();
    // What was typed outlives the dialog.
    await page.keyboard.press("Escape");
    await form.waitFor({ state: "detached" });
    await page.getByRole("button", { name: "New task" }).click();
    assert.equal(await form.getByLabel("Title", { exact: true }).inputValue(), "Print invoices");
    await form.getByLabel("Tags").fill("print, billing");
    await form.getByRole("button", { name: "Create task" }).click();
    await page.getByRole("heading", { name: "Print invoices" }).waitFor();
    const { result } = await server.call("POST", "/api/ops/tasks_context", { workspace: "press" });
    const [task] = result.tasks;
    assert.deepEqual([task.priority, task.tags, task.steps_count], ["HIGH", ["print", "billing"], 2]);
    assert.equal(result.plans[0].title, "Invoices");
  },

  async "a task is edited where it is shown, and refusals stay beside the field"(stage) {
    const { page, op, task, limits } = await atBoard(stage);
    await page.goto(`${page.url().split("#")[0]}#/work/harbour/${limits}`);
    await page.getByRole("button", { name: "Edit title" }).click();
    await page.getByLabel("Title", { exact: true }).fill("Limit open uploads");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Limit open uploads" }).waitFor();
    await page.getByRole("button", { name: "Edit description" }).click();
    await page.getByLabel("Description", { exact: true }).fill("One client must not fill the disk.");
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("One client must not fill the disk.").waitFor();

    const facts = page.getByLabel("Facts", { exact: true });
    await facts.getByRole("button", { name: "Edit facts" }).click();
    await facts.getByRole("combobox", { name: "Priority" }).selectOption("CRITICAL");
    await facts.getByRole("button", { name: /^Do not depend on/ }).click();
    await facts.getByLabel("Depends on").fill("Load test");
    await facts.getByRole("button", { name: /Load test/ }).click();
    await facts.getByRole("button", { name: "Save" }).click();
    // The load test needs this task already.
    await facts.getByRole("alert").waitFor();
    await facts.getByRole("button", { name: "Do not depend on Load test" }).click();
    await facts.getByLabel("Depends on").fill("Passkeys");
    await facts.getByRole("button", { name: /Passkeys/ }).click();
    await facts.getByRole("button", { name: "Save" }).click();
    await facts.getByRole("button", { name: "Edit facts" }).waitFor();
    await facts.getByRole("img", { name: "Critical priority" }).waitFor();

    const steps = page.getByRole("list", { name: "Steps" });
    await steps.getByRole("button", { name: "Edit step" }).click();
    const form = page.getByRole("form", { name: "Edit step" });
    await form.getByLabel("Title", { exact: true }).fill("Count open uploads");
    await form.getByLabel("Done when").fill("At most ten\n- and it is logged");
    await form.getByLabel("Names of other checks").fill("Not A Name!");
    await form.getByRole("button", { name: "Save" }).click();
    await form.getByRole("alert").waitFor();
    assert.equal(await form.getByLabel("Title", { exact: true }).inputValue(), "Count open uploads");
    await form.getByLabel("Names of other checks").fill("");
    await form.getByRole("button", { name: "Save" }).click();
    await steps.getByText("and it is logged").first().waitFor();
    await page.getByRole("button", { name: "Add steps" }).click();
    await page.getByLabel("Step 1", { exact: true }).fill("Tell the client");
    await page.getByRole("button", { name: "Add", exact: true }).click();
    await steps.getByText("Tell the client").waitFor();
    await accessible(page, "task being edited");
    const { steps: now, target } = await op("tasks_resume", { task: limits, read_only: true });
    assert.deepEqual(now[0].success_criteria, ["At most ten", "and it is logged"]);
    assert.equal(now.at(-1).title, "Tell the client");
    assert.equal(target.priority, "CRITICAL");
    assert.notDeepEqual(target.depends_on, [task]);
  },

  async "a task moves to another plan by dragging and in its facts, and undo brings it back"(stage) {
    const { server, page, op, limits, plan } = await atBoard(stage);
    const { plans } = await op("tasks_context", { query: "Sign-in" });
    const other = plans[0].id;
    const planNow = async () => (await op("tasks_resume", { task: limits, read_only: true })).target.parent;
    await page.goto(`${server.base}/#/work/harbour?view=tree`);
    const line = (name) => page.getByRole("treeitem", { name }).first();
    await line("Limit what one client").dragTo(line("Sign-in without passwords"));
    await stage.until(async () => (await planNow()) === other);
    await page.getByText("Limit what one client can hold open: moved").waitFor();
    await page.goto(`${server.base}/#/work/harbour/${limits}`);
    const facts = page.getByLabel("Facts", { exact: true });
    await facts.getByRole("link", { name: "Sign-in without passwords" }).waitFor();
    await facts.getByRole("button", { name: "Edit facts" }).click();
    await facts.getByRole("combobox", { name: /^Plan/ }).selectOption(plan);
    await facts.getByRole("button", { name: "Save" }).click();
    await stage.until(async () => (await planNow()) === plan);
    await facts.getByRole("link", { name: "Upload pipeline" }).waitFor();
    await page.getByRole("tab", { name: "History" }).click();
    await page.getByText("undo reverts this").waitFor();
    await page.getByRole("button", { name: /^Undo/ }).click();
    await stage.until(async () => (await planNow()) === other);
  },

  async "cards are moved by dragging and with keys"(stage) {
    const { page } = await atBoard(stage);
    const column = (name) => page.getByRole("region", { name, exact: true });
    const card = (name) => page.getByRole("link", { name });
    await card("Load test with 500 clients").dragTo(column("Active"));
    await column("Active").getByText("Load test with 500 clients").waitFor();
    await card("Load test with 500 clients").focus();
    await page.keyboard.press("Shift+ArrowRight");
    await page.getByRole("alert").waitFor();
    await column("Active").getByText("Load test with 500 clients").waitFor();
    await page.getByRole("region", { name: "Work" }).getByRole("button", { name: "Dismiss" }).click();
    await card("Load test with 500 clients").focus();
    await page.keyboard.press("Shift+ArrowLeft");
    await column("Todo").getByText("Load test with 500 clients").waitFor();
  },

  async "a plan is created from a template"(stage) {
    const { page, op } = await atBoard(stage);
    await page.getByRole("button", { name: "New plan" }).click();
    const form = page.getByRole("dialog", { name: "New plan" });
    await form.getByLabel("Title", { exact: true }).fill("Quarterly cleaning");
    const start = form.getByLabel("Start from");
    await form.getByRole("option").nth(5).waitFor({ state: "attached" });
    await start.selectOption({ index: 1 });
    assert.notEqual(await form.getByRole("textbox", { name: "Points" }).inputValue(), "");
    await form.getByRole("button", { name: "Create plan" }).click();
    await page.getByRole("heading", { name: "Quarterly cleaning" }).waitFor();
    await page.getByRole("region", { name: "Checklist" }).waitFor();
    const { plans } = await op("tasks_context", { query: "Quarterly" });
    assert.equal(plans.length, 1);
  },
};
