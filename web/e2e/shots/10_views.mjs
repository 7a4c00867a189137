// Screenshots of every main view, light and dark, wide and on a phone.
import { byAlias, demo, demoRun } from "../demo.mjs";

const LOOKS = [
  ["wide-light", { viewport: { width: 1440, height: 900 }, colorScheme: "light" }],
  ["wide-dark", { viewport: { width: 1440, height: 900 }, colorScheme: "dark" }],
  ["phone-light", { viewport: { width: 360, height: 740 }, colorScheme: "light" }],
  ["phone-dark", { viewport: { width: 360, height: 740 }, colorScheme: "dark" }],
];

function places(run) {
  const of = (alias, rest = "") => `#/runs/${run.id}/${byAlias(run, alias)}${rest}`;
  return [
    ["attention", "#/attention"],
    ["runs", "#/runs"],
    ["graph", `#/runs/${run.id}`],
    ["chat", of("lead")],
    ["full", of("coder", "?mode=full")],
    ["node", of("coder", "?tab=overview")],
    ["diffs", of("coder", "?tab=diffs&mode=full")],
    ["tools", of("coder", "?tab=tools")],
    ["handoffs", of("lead", "?tab=handoffs")],
    ["prompts", of("lead", "?tab=prompts")],
    ["artifacts", of("lead", "?tab=artifacts")],
    ["session", of("lead", "?tab=session")],
    ["collapsed", `#/runs/${run.id}?mode=overview`],
    ["timeline", `#/runs/${run.id}?mode=timeline`],
    ["work", "#/work"],
    ["sessions", "#/sessions"],
    ["about", "#/about"],
  ];
}

async function enter(stage, server, look) {
  const page = await stage.page(look);
  await page.goto(server.base);
  await page.getByLabel("Token").fill(server.token());
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("navigation").waitFor();
  return page;
}

/** Approves everything until the run is over. */
async function finish(server) {
  const deadline = Date.now() + 60_000;
  while (Date.now() < deadline && (await demoRun(server)).status !== "completed") {
    const { approvals } = await server.call("GET", "/api/approvals");
    for (const { approval } of approvals) {
      await server.call("POST", `/api/approvals/${approval.approvalId}/resolve`, { resolution: { status: "approved" } });
    }
    await new Promise((done) => setTimeout(done, 100));
  }
}

export const scenarios = {
  async "pictures of every view"(stage) {
    const server = await demo(stage, { pace: 5 });
    for (const [name, look] of LOOKS) {
      const page = await enter(stage, server, look);
      // Something waits at first, so that the attention list is not empty.
      if (name === "wide-light") await page.locator(".answers").first().waitFor({ timeout: 60_000 });
      for (const [view, place] of places(await demoRun(server))) {
        await page.goto(`${server.base}/${place}`);
        await page.waitForTimeout(600);
        await stage.picture(`${name}-${view}`);
      }
      if (name === "wide-light") await finish(server);
      await page.goto(`${server.base}/#/runs`);
      await page.getByRole("button", { name: "Roles" }).waitFor();
      await page.keyboard.press("/");
      await page.getByRole("combobox").fill("greet");
      await page.getByText(/events of all runs/).waitFor();
      await stage.picture(`${name}-search`);
      await page.keyboard.press("Escape");
      await page.getByRole("button", { name: "Roles" }).click();
      await page.getByRole("list", { name: "Roles" }).getByRole("button").first().click();
      await page.getByRole("button", { name: "Read" }).click();
      await stage.picture(`${name}-roles`);
      await page.keyboard.press("Escape");
      if (name !== "wide-dark") continue;
      await page.getByRole("button", { name: "New run" }).click();
      await page.waitForTimeout(600);
      await stage.picture(`${name}-create`);
    }
  },
};
