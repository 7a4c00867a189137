// Projects: definitions that changed are accepted or declined, a new project, and protected files.
import assert from "node:assert/strict";
import { accept, PROTECT, Repository, withChecks } from "../project.mjs";

const WEAKER = `workspace = "harbour"
gates = "plain"

[checks.tests]
run = "true"
`;

export const scenarios = {
  async "changed definitions stay out of force until a person accepts them"(stage) {
    const world = await withChecks(stage);
    const { repository } = world;
    const page = await stage.enter(world);
    await page.goto(`${world.base}/#/projects`);
    const card = page.getByRole("article", { name: stage.project });
    await card.getByText("Accepted", { exact: true }).waitFor();
    await card.getByText("sh checks/run.sh tests.txt").waitFor();
    const accepted = repository.read("muster.toml");
    repository.write("muster.toml", WEAKER);
    repository.commit("Make the tests quicker");
    await page.reload();
    const changes = card.getByRole("region", { name: /^Changes of/ });
    await changes.getByText("Check tests").waitFor();
    await changes.getByText("After: +true").first().waitFor();
    await card.getByText(/Last changed by Grace/).waitFor();
    await card.getByRole("region", { name: /^Definitions of/ }).getByText("sh checks/run.sh tests.txt").waitFor();
    await card.getByRole("button", { name: "Keep the old ones" }).click();
    await card.getByText("Change declined", { exact: true }).waitFor();
    const { result } = await world.call("POST", "/api/ops/tasks_proof", { workspace: "harbour", task: world.task });
    assert.equal(result.checks[0].name, "tests", "the accepted check is still required");
    // What was shown is what is accepted: a file that changed since is refused, and shown.
    repository.write("muster.toml", `${WEAKER}timeout = "1m"\n`);
    await card.getByRole("button", { name: "Accept the changes" }).click();
    await card.getByRole("alert").getByText(/has changed since/).waitFor();
    await card.getByRole("button", { name: "Accept the changes" }).click();
    await card.getByText("Accepted", { exact: true }).waitFor();
    await card.getByText("at most 1 min").waitFor();
    repository.write("muster.toml", "[checks.tests\n");
    await page.reload();
    await card.getByText("Broken file", { exact: true }).waitFor();
    await card.getByText(/muster\.toml.*1/).first().waitFor();
    repository.write("muster.toml", accepted);
  },

  async "a project that nobody accepted is read and accepted on the page"(stage) {
    new Repository(stage.project);
    const server = await stage.serve();
    const page = await stage.enter(server);
    await page.goto(`${server.base}/#/projects`);
    await page.getByText("No projects yet").waitFor();
    const field = page.getByLabel("Folder of a project");
    await field.fill("/nowhere/at/all");
    await page.getByRole("button", { name: "Look" }).click();
    await page.getByRole("alert").waitFor();
    assert.equal(await field.inputValue(), "/nowhere/at/all");
    await field.fill(`${stage.project}/src`);
    await page.getByRole("button", { name: "Look" }).click();
    const card = page.getByRole("article", { name: stage.project });
    await card.getByText("Not accepted", { exact: true }).waitFor();
    await card.getByText("Nothing runs before that").waitFor();
    await card.getByRole("button", { name: "Accept these definitions" }).click();
    await card.getByText("Accepted", { exact: true }).waitFor();
    await card.getByText(/Accepted by .+ just now/).waitFor();
  },

  async "protected files want a person's look before the task is done"(stage) {
    const world = await withChecks(stage, { "tests.txt": "parts::survive_kill ok\n" });
    const { repository, op, task } = world;
    repository.write("muster.toml", `${repository.read("muster.toml")}${PROTECT}`);
    await accept(world, stage.project);
    const page = await stage.enter(world);
    await page.goto(world.place);
    await page.getByRole("list", { name: "Steps" }).waitFor();
    const panel = page.getByRole("region", { name: "Protected files" });
    assert.equal(await panel.count(), 0);
    repository.write("contracts/upload.json", '{ "offset": "string" }\n');
    await op("tasks_note", { task, path: "s:0", note: "Changed the contract" });
    await panel.getByText("1 protected file changed").waitFor();
    await panel.getByText("contracts/upload.json").click();
    await panel.getByText('+{ "offset": "string" }').waitFor();
    await page.getByRole("button", { name: "Complete task" }).click();
    await page.getByRole("alert").first().waitFor();
    // Another change after the look is not covered by it.
    repository.write("contracts/upload.json", '{ "offset": "number" }\n');
    await panel.getByRole("button", { name: "I have looked at it" }).click();
    await panel.getByRole("alert").waitFor();
    await panel.getByText('+{ "offset": "number" }').waitFor();
    await panel.getByRole("button", { name: "I have looked at it" }).click();
    await panel.waitFor({ state: "detached" });
    const proof = await op("tasks_proof", { task });
    assert.equal(proof.protected.state, "passed");
  },
};
