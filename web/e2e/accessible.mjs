// Checks a page with axe-core; only serious and critical findings count.
import axe from "axe-core";

/** Fails if the page has findings in its current state. */
export async function accessible(page, name) {
  await page.evaluate(axe.source);
  const found = await page.evaluate(async () => {
    // A colour in the middle of its transition would give false findings. Where a colour is inherited, the end of
    // one transition begins the next.
    const isEnding = (animation) => animation.effect.getComputedTiming().endTime !== Infinity;
    for (;;) {
      const ending = document.getAnimations().filter(isEnding);
      if (ending.length === 0) break;
      for (const animation of ending) animation.finish();
      await new Promise(requestAnimationFrame);
    }
    const rules = { resultTypes: ["violations"] };
    const { violations } = await globalThis.axe.run(document, rules);
    return violations
      .filter((violation) => ["serious", "critical"].includes(violation.impact))
      .map(
        (violation) =>
          `${violation.id}: ${violation.nodes
            .map((node) => `${node.html} ${node.any[0]?.message ?? ""}`)
            .slice(0, 3)
            .join(" | ")}`,
      );
  });
  if (found.length > 0) throw new Error(`${name}:\n${found.join("\n")}`);
}
