// What holds for every view and dialog, in both themes, on a large screen and on a phone.
import assert from "node:assert/strict";
import { accessible } from "../accessible.mjs";
import { GROUPS, walk } from "../views.mjs";

/** The results of a search whose text has no room. */
function emptyOptions() {
  const texts = [...document.querySelectorAll('[role="option"] > .cut')];
  return texts.filter((text) => text.clientWidth < 100).map((text) => text.textContent);
}

/** Fails unless the view can be used without seeing it, fits its width, and shows no keys where there are none. */
async function holds(page, name, { look, width }) {
  await accessible(page, `${name}, ${look}`);
  const wide = await page.evaluate(() => document.documentElement.scrollWidth);
  assert.ok(wide <= width, `${name}, ${look}: ${wide} px wide`);
  const focused = await page.evaluate(() => document.activeElement?.className ?? "");
  assert.ok(!/\bdanger\b/.test(focused), `${name}, ${look}: a destructive button has the focus`);
  assert.deepEqual(await page.evaluate(emptyOptions), [], `${name}, ${look}: results without their text`);
  if (look.startsWith("phone")) assert.equal(await page.locator("kbd:visible").count(), 0, `${name}: a phone shows keys`);
}

export const scenarios = Object.fromEntries(
  Object.entries(GROUPS).map(([name, group]) => [
    `every view of ${name} can be used by everybody, in both themes and sizes`,
    (stage) => walk(stage, group, holds),
  ]),
);
