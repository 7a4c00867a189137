// The picture of the documentation: a task whose steps and checks are declared, run, proven, stale and waived.
import { closeFour, withChecks } from "../project.mjs";

/** The page's clock is this far ahead, so that ages are not all "just now". */
const AHEAD_MS = 4 * 60_000;

export const scenarios = {
  async "illustration of proof"(stage) {
    const world = await withChecks(stage, {}, { last: ["tests", "lint", "audit"] });
    const { repository, op, task } = world;
    const run = (checks) => op("tasks_check", { task, checks, fresh: true, wait_seconds: 40 });
    for (const seconds of ["0.8", "1.1", "0.9", "1.4", "1.0", "1.2"]) {
      repository.write(".pace", seconds);
      await run(["tests", "lint"]);
    }
    await closeFour(world);
    repository.write("src/upload.rs", "pub struct Upload { offset: u64 }\n");
    const page = await stage.enter(world, { viewport: { width: 1340, height: 975 }, colorScheme: "light" });
    await page.clock.setFixedTime(Date.now() + AHEAD_MS);
    await page.goto(world.place);
    await page.reload();
    const steps = page.getByRole("list", { name: "Steps" });
    for (const word of ["Proven", "Evidence", "Claimed", "Waived", "Stale", "Passed", "Never run"]) {
      await steps.getByText(word, { exact: true }).first().waitFor();
    }
    await page.waitForTimeout(300);
    await stage.illustration("proof");
  },
};
