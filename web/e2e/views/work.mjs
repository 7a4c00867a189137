// Plans and tasks, checks and projects, and every form that changes them.
import { fillWork } from "../content.mjs";
import { closeFour, PROTECT, withChecks, accept } from "../project.mjs";

/** Work in two workspaces: one that a person fills, and one whose steps have to pass checks. */
async function prepare(stage) {
  const world = await withChecks(stage);
  await closeFour(world);
  const quay = await fillWork(world, "quay");
  const { repository } = world;
  const proven = await accept(world, stage.project);
  repository.write("muster.toml", `${repository.read("muster.toml")}${PROTECT}`);
  return { ...world, quay, proven };
}

const board = (page, { base }, query) => page.goto(`${base}/#/work/quay?${query}`);
const task = (page, { base, quay }, rest = "") => page.goto(`${base}/#/work/quay/${quay.task}${rest}`);
const title = "Resume uploads after a lost connection";

/** A form of the step that is open. */
async function stepForm(page, world, button, wait) {
  await task(page, world, "?step=s:1");
  await page.getByRole("button", { name: button, exact: true }).first().click();
  await wait(page);
}

async function tab(page, world, name, text) {
  await task(page, world, `?tab=${name}`);
  await page.getByText(text).first().waitFor();
}

export const workViews = {
  prepare,
  views: {
    async board(page, world) {
      await board(page, world, "view=board");
      await page.getByText("Passkeys for the admin page").waitFor();
    },
    async tree(page, world) {
      await board(page, world, "view=tree");
      await page.getByRole("treeitem", { name: title }).getByRole("button", { name: "Unfold" }).click();
      await page.getByText("Keep received parts on disk").waitFor();
    },
    async "no-matches"(page, world) {
      await board(page, world, "view=board&q=zeppelin");
      await page.getByText("No matches").waitFor();
    },
    async "new-task"(page, world) {
      await board(page, world, "view=board");
      await page.getByRole("button", { name: "New task" }).click();
      await page.getByRole("dialog", { name: "New task" }).getByLabel("Step 1", { exact: true }).waitFor();
    },
    async "new-plan"(page, world) {
      await board(page, world, "view=board");
      await page.getByRole("button", { name: "New plan" }).click();
      await page.getByRole("dialog", { name: "New plan" }).getByRole("textbox", { name: "Points" }).waitFor();
    },
    async task(page, world) {
      await task(page, world);
      await page.getByRole("button", { name: "Close step" }).waitFor();
    },
    async refused(page, world) {
      await task(page, world, "?step=s:1");
      await page.getByRole("button", { name: "Close step" }).click();
      await page.getByRole("alert").waitFor();
    },
    evidence: (page, world) =>
      stepForm(page, world, "Attach evidence", () => page.getByLabel("Command that ran").waitFor()),
    block: (page, world) => stepForm(page, world, "Block", () => page.getByRole("textbox").first().waitFor()),
    note: (page, world) => stepForm(page, world, "Note", () => page.getByRole("textbox").first().waitFor()),
    "edit-step": (page, world) =>
      stepForm(page, world, "Edit step", () => page.getByRole("form", { name: "Edit step" }).waitFor()),
    substeps: (page, world) =>
      stepForm(page, world, "Add substeps", () => page.getByLabel("Step 1", { exact: true }).waitFor()),
    async "edit-title"(page, world) {
      await task(page, world);
      await page.getByRole("button", { name: "Edit title" }).click();
      await page.getByLabel("Title", { exact: true }).waitFor();
    },
    async facts(page, world) {
      await task(page, world);
      await page.getByRole("button", { name: "Edit facts" }).click();
      await page.getByRole("form", { name: "Edit facts" }).waitFor();
    },
    "task-timeline": (page, world) => tab(page, world, "timeline", "Checkpoints confirmed"),
    "task-evidence": (page, world) => tab(page, world, "evidence", "Proves tests"),
    "task-reasoning": (page, world) => tab(page, world, "reasoning", "Offsets, not part lists"),
    async "task-history"(page, world) {
      await task(page, world, "?tab=history");
      await page.getByRole("button", { name: /^Undo / }).waitFor();
    },
    async plan(page, world) {
      await page.goto(`${world.base}/#/work/quay/${world.quay.plan}`);
      await page.getByText("Load test with 500 clients").waitFor();
    },
    async proven(page, world) {
      await page.goto(world.place);
      await page.getByText("Proven", { exact: true }).first().waitFor();
    },
    async checks(page, world) {
      await page.goto(`${world.place}?tab=checks`);
      await page.getByRole("list", { name: "Checks" }).getByRole("listitem", { name: "Check tests" }).waitFor();
    },
    async waive(page, world) {
      await page.goto(`${world.place}?tab=checks`);
      const check = page.getByRole("list", { name: "Checks" }).getByRole("listitem", { name: "Check lint" });
      await check.getByRole("button", { name: "Waive: lint" }).click();
      await page.getByRole("dialog").getByLabel("Reason").waitFor();
    },
    async "run-for-task"(page, world) {
      await page.goto(world.place);
      await page.getByRole("button", { name: "Run agents on this" }).click();
      await page.getByRole("dialog", { name: "New run" }).getByRole("link", { name: title }).waitFor();
    },
    async projects(page, world) {
      await page.goto(`${world.base}/#/projects`);
      await page.getByRole("article").getByText("What the file changes").waitFor();
    },
  },
};
