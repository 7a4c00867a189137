// Every view and dialog of the page, each shown in four looks: for pictures and for what holds everywhere.
import { settled } from "./accessible.mjs";
import { emptyViews } from "./views/empty.mjs";
import { judgingViews } from "./views/judging.mjs";
import { runViews } from "./views/runs.mjs";
import { sessionViews } from "./views/sessions.mjs";
import { workViews } from "./views/work.mjs";

/** A large screen and a phone, light and dark. */
export const LOOKS = [
  { look: "wide-light", width: 1440, height: 900, colorScheme: "light" },
  { look: "wide-dark", width: 1440, height: 900, colorScheme: "dark" },
  { look: "phone-light", width: 390, height: 844, colorScheme: "light" },
  { look: "phone-dark", width: 390, height: 844, colorScheme: "dark" },
];

/** A view is there after this time, or something is wrong with it. */
const WAIT_MS_MAX = 10_000;

/** Groups of views, each with the world that it needs: `{prepare(stage), views: {name: open(page, world)}}`. */
export const GROUPS = {
  empty: emptyViews,
  judging: judgingViews,
  runs: runViews,
  work: workViews,
  sessions: sessionViews,
};

/** Opens each view of a group, and visits it in each look; what fails is reported once all were seen. */
export async function walk(stage, group, visit) {
  const faults = [];
  const world = await group.prepare(stage);
  const page = await stage.enter(world, { reducedMotion: "reduce" });
  page.setDefaultTimeout(WAIT_MS_MAX);
  for (const [name, open] of Object.entries(group.views)) {
    await wear(page, LOOKS[0]);
    // A fresh document: no dialog and no scroll position is left from the view before.
    await page.goto("about:blank");
    try {
      await open(page, world);
      for (const look of LOOKS) {
        await wear(page, look);
        await visit(page, name, look);
      }
    } catch (error) {
      faults.push(`${name}: ${error.message}`);
    }
  }
  if (faults.length > 0) throw new Error(faults.join("\n\n"));
}

async function wear(page, { width, height, colorScheme }) {
  await page.setViewportSize({ width, height });
  await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
  await page.waitForFunction((theme) => !document.querySelector("#app *") || document.documentElement.dataset.theme === theme, colorScheme);
  await settled(page);
}
