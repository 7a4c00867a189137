// One small story that every JavaScript client plays: list, create, be refused, close, read.
//
// A client is an object with `listTools()`, `callTool(name, arguments)`, `readResource(uri)` and
// `getPrompt(name, arguments)`; each returns the protocol's result or throws the protocol's error.

export class Report {
  passed = 0;
  failed = 0;

  async check(what, holds) {
    try {
      const verdict = await holds();
      if (verdict !== true) throw new Error(`got ${JSON.stringify(verdict)}`);
      this.passed += 1;
      console.log(`ok      ${what}`);
    } catch (error) {
      this.failed += 1;
      console.log(`FAILED  ${what}: ${error.message}`);
    }
  }

  finish() {
    console.log(`${this.passed} passed, ${this.failed} failed`);
    process.exitCode = this.failed === 0 && this.passed > 0 ? 0 : 1;
  }
}

/**
 * The envelope of a tool result. Text and structure say the same in the older revisions; in the
 * modern one the text is one line, which of a refusal has the code, the message and the recovery.
 */
export function envelope(result, era) {
  const [{ text }] = result.content;
  const structure = result.structuredContent;
  const fits =
    era === "modern" ? isLineOf(text, structure) : text === JSON.stringify(structure);
  if (!fits) throw new Error(`the text of a ${era} result is ${text}`);
  if (result.isError !== !structure.success) throw new Error(`isError is ${result.isError}`);
  return structure;
}

function isLineOf(text, { success, error }) {
  if (success) return /^[a-z_]+: ok$/.test(text);
  const parts = [error.code, error.message, error.recovery];
  return !text.includes("\n") && parts.every((part) => text.includes(part));
}

export async function play(client, report, era) {
  const workspace = "outside/clients";
  const call = async (name, args) =>
    envelope(await client.callTool(name, { workspace, ...args }), era);
  const seen = {};

  await report.check("tools are listed with schemas and all four hints", async () => {
    const tools = await client.listTools();
    seen.names = tools.map((tool) => tool.name);
    const bare = tools.filter((tool) => {
      const hints = tool.annotations ?? {};
      const named = ["readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"];
      const complete = named.every((hint) => typeof hints[hint] === "boolean");
      return !complete || tool.inputSchema?.type !== "object" || tool.outputSchema?.type !== "object";
    });
    return seen.names.includes("tasks_create") && bare.length === 0 ? true : bare.map((tool) => tool.name);
  });
  await report.check("a plan is created", async () => {
    const answer = await call("tasks_create", { kind: "plan", title: "Outside plan" });
    seen.plan = answer.result.id;
    return /^PLAN-\d{3,}$/.test(seen.plan);
  });
  await report.check("a task with steps is created", async () => {
    const steps = [
      { title: "First", success_criteria: ["it runs"], tests: ["run it"] },
      { title: "Second", success_criteria: [] },
    ];
    const answer = await call("tasks_create", { parent: seen.plan, title: "Outside task", steps });
    seen.task = answer.result.id;
    seen.step = answer.result.steps[0].step_id;
    return answer.result.steps.length === 2;
  });
  await report.check("closing an unconfirmed step is refused as a result", async () => {
    const result = await client.callTool("tasks_done", { workspace, task: seen.task, step_id: seen.step });
    const refusal = envelope(result, era);
    return result.isError === true && refusal.error.code === "CHECKPOINTS_NOT_CONFIRMED";
  });
  await report.check("a confirmed step is closed", async () => {
    const step = { task: seen.task, step_id: seen.step };
    const answer = await call("tasks_close_step", { ...step, checkpoints: "gate" });
    return answer.result.step.step_id === seen.step && answer.result.revision === 1;
  });
  await report.check("an unknown argument is refused as a result", async () => {
    const refusal = await call("tasks_radar", { taks: seen.task });
    return refusal.error.code === "INVALID_INPUT";
  });
  await report.check("an unknown tool is a protocol error", async () => {
    try {
      await client.callTool("tasks_creat", { workspace });
    } catch (error) {
      return /tasks_create/.test(error.message);
    }
    return "no error";
  });
  await report.check("the task can be read as a resource", async () => {
    const uri = `muster://workspace/${encodeURIComponent(workspace)}/task/${seen.task}`;
    const [contents] = (await client.readResource(uri)).contents;
    return contents.mimeType === "application/json" && typeof JSON.parse(contents.text) === "object";
  });
  await report.check("a prompt is written", async () => {
    const prompt = await client.getPrompt("resume_work", { task: seen.task, workspace });
    return prompt.messages[0].content.text.includes(seen.task);
  });
}

/** `stdio PROGRAM ARGUMENTS...` or `http URL TOKEN` ("-" for none). */
export function target([transport, ...rest]) {
  if (transport === "stdio") return { transport, command: rest[0], args: rest.slice(1) };
  if (transport === "http") {
    const headers = rest[1] === "-" ? {} : { Authorization: `Bearer ${rest[1]}` };
    return { transport, url: new URL(rest[0]), headers };
  }
  throw new Error("usage: stdio PROGRAM ARGUMENTS... | http URL TOKEN");
}
