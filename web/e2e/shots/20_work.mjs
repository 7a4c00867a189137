// Screenshots of work: board, tree, a task with all its tabs, a plan; light, dark and narrow.
import { fillWork } from "../content.mjs";

async function pictures(stage, name, options) {
  const server = await stage.serve();
  const work = await fillWork(server);
  const page = await stage.page(options);
  const show = async (hash, wait, shot) => {
    await page.goto(`${server.base}/${hash}`);
    await wait();
    await stage.picture(`${name}-${shot}`);
  };
  await page.goto(server.link);
  await page.getByRole("link", { name: "Work" }).waitFor();
  const at = `#/work/${work.workspace}`;
  await show(`${at}?view=board`, () => page.getByText("Passkeys for the admin page").waitFor(), "board");
  await show(`${at}?view=tree`, () => page.getByText("Passkeys for the admin page").waitFor(), "tree-closed");
  await page.getByRole("treeitem", { name: "Resume uploads after" }).getByRole("button", { name: "Unfold" }).click();
  await page.getByText("Keep received parts on disk").waitFor();
  await stage.picture(`${name}-tree`);
  await show(`${at}/${work.task}`, () => page.getByRole("button", { name: "Close step" }).waitFor(), "task");
  await page.getByRole("button", { name: "Close step" }).click();
  await page.getByRole("alert").waitFor();
  await page.getByRole("button", { name: "Attach evidence" }).click();
  await page.getByLabel("Command that ran").waitFor();
  await stage.picture(`${name}-refused`);
  await show(
    `${at}/${work.task}?tab=timeline`,
    () => page.getByText("Checkpoints confirmed").first().waitFor(),
    "timeline",
  );
  await show(`${at}/${work.task}?tab=evidence`, () => page.getByText("Proves tests").first().waitFor(), "evidence");
  await show(
    `${at}/${work.task}?tab=reasoning`,
    () => page.getByText("Offsets, not part lists").first().waitFor(),
    "reasoning",
  );
  await show(`${at}/${work.task}?tab=history`, () => page.getByRole("button", { name: /^Undo / }).waitFor(), "history");
  await show(`${at}/${work.plan}`, () => page.getByText("Load test with 500 clients").waitFor(), "plan");
}

export const scenarios = {
  "work in the light": (stage) => pictures(stage, "work-light", { colorScheme: "light" }),
  "work in the dark": (stage) => pictures(stage, "work-dark", { colorScheme: "dark" }),
  "work on a phone": (stage) =>
    pictures(stage, "work-narrow", { colorScheme: "light", viewport: { width: 360, height: 740 } }),
};
