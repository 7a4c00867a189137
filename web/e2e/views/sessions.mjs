// Sessions: the list, and one session with each of its panels.
import { fillSession } from "../content.mjs";

async function prepare(stage) {
  const server = await stage.serve();
  const { id } = await fillSession(server);
  await fillSession(server, "Passkeys for the admin page");
  return { ...server, id };
}

async function panel(page, { base, id }, name, text) {
  await page.goto(`${base}/#/sessions/${id}?panel=${name}`);
  await page.getByText(text).first().waitFor();
}

export const sessionViews = {
  prepare,
  views: {
    async sessions(page, { base }) {
      await page.goto(`${base}/#/sessions`);
      await page.getByText("Make uploads resumable").waitFor();
    },
    todos: (page, world) => panel(page, world, "todos", "Operator's page"),
    tasks: (page, world) => panel(page, world, "tasks", "explore-1"),
    tree: (page, world) => panel(page, world, "tree", "drop-low-score"),
    async "tree-details"(page, world) {
      await panel(page, world, "tree", "drop-low-score");
      await page.getByText("Details of the C-Tree").click();
      await page.getByRole("button", { name: "Copy the hash" }).first().waitFor();
    },
    async "tree-text"(page, world) {
      await panel(page, world, "tree", "drop-low-score");
      await page.getByText("Details of the C-Tree").click();
      await page.getByRole("button", { name: /letters$/ }).click();
      await page.getByRole("dialog", { name: "Compiled text" }).getByText("## Turn 2").waitFor();
    },
    async "delete-session"(page, world) {
      await panel(page, world, "todos", "Operator's page");
      await page.getByRole("button", { name: "Delete the session" }).click();
      await page.getByRole("dialog", { name: "Delete Make uploads resumable?" }).waitFor();
    },
  },
};
