// Screenshots of checks, projects and protected files: light and dark, wide and on a phone.
import { accept, closeFour, PROTECT, withChecks } from "../project.mjs";

const LOOKS = [
  ["wide-light", 1440, 900, "light"],
  ["wide-dark", 1440, 900, "dark"],
  ["phone-light", 390, 844, "light"],
  ["phone-dark", 390, 844, "dark"],
];

/** The same place in every look. */
async function pictures(stage, page, name, place, wait) {
  for (const [look, width, height, colorScheme] of LOOKS) {
    await page.setViewportSize({ width, height });
    await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
    await page.goto("about:blank");
    await page.goto(place);
    await wait();
    await page.waitForTimeout(300);
    await stage.picture(`checks-${look}-${name}`);
  }
}

/** A history with every kind of verdict: passes, failures on the same files, a test that is gone. */
async function prepared(stage) {
  const world = await withChecks(stage);
  const { repository, op, task } = world;
  const run = (checks, fresh = true) => op("tasks_check", { task, checks, fresh, wait_seconds: 40 });
  for (let at = 0; at < 5; at += 1) await run(["tests", "lint"]);
  await closeFour(world);
  repository.write("lint.txt", "clippy::all flips\nclippy::pedantic ok\n");
  await run(["lint"]);
  repository.write(".flip", "");
  await run(["lint"]);
  repository.remove(".flip");
  await run(["lint"]);
  repository.write("tests.txt", "parts::survive_kill ok\nupload::head_names_offset ok\nupload::slow ignored\n");
  await run(["tests"]);
  return world;
}

export const scenarios = {
  async "checks of a task"(stage) {
    const world = await prepared(stage);
    const { repository, agent, task, place } = world;
    const page = await stage.enter(world);
    const check = (name) => page.getByRole("list", { name: "Checks" }).getByRole("listitem", { name: `Check ${name}` });
    const checks = `${place}?tab=checks`;
    await pictures(stage, page, "found", checks, () => page.getByText("Worth a look").waitFor());
    repository.write("src/upload.rs", "pub struct Upload { offset: u64 }\n");
    await agent.call("tasks_check", {
      workspace: "harbour",
      task,
      path: "s:4",
      checks: ["tests"],
      waive: { reason: "The test database of this machine is down. parts::* pass on the build server." },
    });
    await pictures(stage, page, "asked", checks, () => check("tests").getByText("Stale", { exact: true }).waitFor());
    await pictures(stage, page, "steps", place, () => page.getByText("Waived", { exact: true }).waitFor());
    await pictures(stage, page, "step", `${place}?step=s:3`, () => page.getByText("A person waived a check").waitFor());
    await pictures(stage, page, "board", `${world.base}/#/work/harbour?view=board`, () =>
      page.getByText("1 with evidence").waitFor(),
    );
    await pictures(stage, page, "waive", checks, async () => {
      await check("tests").getByRole("button", { name: "Waive: tests" }).click();
      await page.getByRole("dialog").getByLabel("Reason").fill("The database of staging is down until Monday");
    });
    repository.write("e2e.txt", "resume_after_three_drops FAILED\nprogress_never_goes_back FAILED\nwarns_before_the_limit ok\n");
    await page.goto("about:blank");
    await page.goto(checks);
    repository.hold();
    await check("tests").getByRole("button", { name: "Run: tests" }).click();
    await pictures(stage, page, "running", checks, () => check("tests").getByRole("log").getByText("try 4").first().waitFor());
    repository.release();
    await check("tests").getByText("Passed", { exact: true }).waitFor();
  },

  async "projects"(stage) {
    const world = await withChecks(stage);
    const { repository } = world;
    const file = "muster.toml";
    const changed = `workspace = "harbour"
gates = "plain"

[checks.tests]
run = "sh checks/run.sh tests.txt || true"
timeout = "5m"
paths = ["src/**", "tests.txt", "checks/**"]

[checks.e2e]
run = "sh checks/run.sh e2e.txt"
timeout = "20m"

[checks.audit]
run = ["cargo", "deny", "check"]
proves = ["security"]
clean = true
`;
    const page = await stage.enter(world);
    const card = page.getByRole("article");
    const place = `${world.base}/#/projects`;
    await pictures(stage, page, "project", place, () => card.getByText("Accepted", { exact: true }).waitFor());
    repository.write(file, changed);
    repository.commit("Relax the tests for now");
    await pictures(stage, page, "project-changed", place, () => card.getByText("What the file changes").waitFor());
  },

  async "what waits in the work"(stage) {
    const world = await withChecks(stage, { "lint.txt": "clippy::all flips\n" });
    const { repository, agent, task } = world;
    const check = (path, name, more = {}) =>
      agent.call("tasks_check", { workspace: "harbour", task, path, checks: [name], wait_seconds: 20, ...more });
    await check("s:3", "e2e");
    await check("s:4", "lint");
    repository.write(".flip", "");
    await check("s:4", "lint", { fresh: true });
    repository.remove(".flip");
    await check("s:4", "lint", { fresh: true });
    await check("s:3", "e2e", { waive: { reason: "There is no browser on this machine; e2e ran on the build server." } });
    repository.write("muster.toml", repository.read("muster.toml").replace("required = true", "required = false"));
    repository.commit("Make the tests optional");
    const page = await stage.enter(world);
    const place = `${world.base}/#/attention`;
    const list = page.getByRole("list", { name: "Waiting for you" });
    for (const [name, word] of [["failed", "Check failed"], ["waiver", "Waiver asked for"], ["definitions", "Definitions changed"]]) {
      await pictures(stage, page, `attention-${name}`, place, async () => {
        await list.getByText(word, { exact: true }).click();
        await page.waitForTimeout(500);
      });
    }
  },

  async "protected files"(stage) {
    const world = await withChecks(stage);
    const { repository } = world;
    repository.write("muster.toml", `${repository.read("muster.toml")}${PROTECT}`);
    await accept(world, stage.project);
    repository.write("contracts/upload.json", '{ "offset": "integer", "expires": "string" }\n');
    repository.write("contracts/limits.json", '{ "open": 4 }\n');
    const page = await stage.enter(world);
    await pictures(stage, page, "protected", world.place, async () => {
      const panel = page.getByRole("region", { name: "Protected files" });
      await panel.getByText("contracts/upload.json").click();
    });
  },
};
