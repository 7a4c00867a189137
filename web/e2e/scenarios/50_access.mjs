// Accessibility: no serious finding of axe-core on the main views, and no text that is cut off on a phone.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** Serious and critical findings. The checker is injected past the page's own policy. */
async function findings(page) {
  await page.evaluate(AXE);
  const { violations } = await page.evaluate(() => window.axe.run(document, { runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"] }));
  return violations
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .map(({ id, nodes }) => `${id}: ${nodes.slice(0, 3).map((node) => node.html.slice(0, 140)).join(" | ")}`);
}

async function places(server) {
  const of = (rest) => `${server.place}${rest}`;
  return [
    `${server.base}/#/attention`,
    `${server.base}/#/runs`,
    `${server.base}/#/runs/${server.run}`,
    of(""),
    of("?tab=overview"),
    of("?tab=diffs&mode=full"),
    of("?tab=tools"),
    of("?tab=prompts"),
    of("?tab=artifacts"),
    of("?tab=session"),
    `${server.base}/#/runs/${server.run}?mode=timeline`,
    `${server.base}/#/work`,
    `${server.base}/#/projects`,
    `${server.base}/#/sessions`,
    `${server.base}/#/about`,
  ];
}

async function prepared(stage) {
  const server = await stage.withRun({}, { permissions: { cliPermissionsMode: "gated" } });
  await server.say("write a.js 20");
  await stage.until(async () => (await server.call("GET", `/api/runs/${server.run}/turns`)).turns[0]?.status === "completed");
  await server.say("ask");
  await stage.until(async () => (await server.call("GET", "/api/approvals")).approvals.length === 1);
  return server;
}

async function look(stage, colorScheme) {
  const server = await prepared(stage);
  const page = await stage.enter(server, { colorScheme, reducedMotion: "reduce" });
  const found = [];
  for (const place of await places(server)) {
    await page.goto(place);
    await stage.loaded();
    for (const finding of await findings(page)) found.push(`${place.split("#")[1]}\n  ${finding}`);
  }
  assert.equal(found.join("\n"), "");
}

export const scenarios = {
  async "axe-core finds nothing serious in light"(stage) {
    await look(stage, "light");
  },

  async "axe-core finds nothing serious in dark"(stage) {
    await look(stage, "dark");
  },

  async "no view is wider than a phone of 360 px"(stage) {
    const server = await prepared(stage);
    const page = await stage.enter(server, { viewport: { width: 360, height: 740 } });
    for (const place of await places(server)) {
      await page.goto(place);
      await stage.loaded();
      const wide = await page.evaluate(() => document.documentElement.scrollWidth);
      assert.ok(wide <= 360, `${place}: ${wide} px`);
    }
  },
};
