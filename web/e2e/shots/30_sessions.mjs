// Screenshots of sessions: the list, a transcript with todos, with its C-Tree; light, dark and narrow.
import { fillSession } from "../content.mjs";

async function pictures(stage, name, options) {
  const server = await stage.serve();
  const { id } = await fillSession(server);
  await fillSession(server, "Passkeys for the admin page");
  const page = await stage.page(options);
  await page.goto(server.link);
  await page.getByRole("link", { name: "Sessions" }).click();
  await page.getByText("Make uploads resumable").waitFor();
  await stage.picture(`${name}-list`);
  for (const panel of ["todos", "tasks", "tree"]) {
    await page.goto(`${server.base}/#/sessions/${id}?panel=${panel}`);
    await page
      .getByText({ todos: "Operator's page", tasks: "explore-1", tree: "drop-low-score" }[panel])
      .first()
      .waitFor();
    await page.getByText("Live", { exact: true }).last().waitFor();
    if (panel === "tree") await page.getByText("Turn 2").last().waitFor();
    await stage.picture(`${name}-${panel}`);
  }
  if (options.viewport) {
    await page.goto(`${server.base}/#/sessions/${id}?panel=transcript`);
    await page.getByText("Now the client side").waitFor();
    await stage.picture(`${name}-transcript`);
  }
}

export const scenarios = {
  "sessions in the light": (stage) => pictures(stage, "sessions-light", { colorScheme: "light" }),
  "sessions in the dark": (stage) => pictures(stage, "sessions-dark", { colorScheme: "dark" }),
  "sessions on a phone": (stage) =>
    pictures(stage, "sessions-narrow", { colorScheme: "light", viewport: { width: 360, height: 740 } }),
};
