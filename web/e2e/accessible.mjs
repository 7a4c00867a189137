// Checks a page with axe-core; every finding counts, however small.
import axe from "axe-core";

/** Ends the transitions that run: a colour in the middle of one would give false findings and pictures. */
export async function settled(page) {
  await page.evaluate(async () => {
    const frame = () => new Promise(requestAnimationFrame);
    const isEnding = (animation) => animation.effect.getComputedTiming().endTime !== Infinity;
    await frame();
    await frame();
    // Where a colour is inherited, the end of one transition begins the next.
    for (;;) {
      const ending = document.getAnimations().filter(isEnding);
      if (ending.length === 0) return;
      for (const animation of ending) animation.finish();
      await frame();
    }
  });
}

/** Fails if the page has findings in its current state. */
export async function accessible(page, name) {
  await settled(page);
  await page.evaluate(axe.source);
  const found = await page.evaluate(async () => {
    const rules = { resultTypes: ["violations"] };
    const { violations } = await globalThis.axe.run(document, rules);
    return violations.map(
      (violation) =>
        `${violation.id} (${violation.impact}): ${violation.nodes
          .map((node) => `${node.html} ${node.any[0]?.message ?? ""}`)
          .slice(0, 3)
          .join(" | ")}`,
    );
  });
  if (found.length > 0) throw new Error(`${name}:\n${found.join("\n")}`);
}
