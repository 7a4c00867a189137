// A scripted agent for the tests of the page. The message that it gets is a command:
//   request JSON (asks for a call of `{name, args}`) · say WORDS · stream N (a number each 40 ms) · ask · disguise (ask with unseen characters) · repeat · write FILE LINES
//   · question WORDS (for a person) · hostile · declare (the run done) · die · count (up, each time)
import { appendFileSync, writeFileSync } from "node:fs";
import { createInterface } from "node:readline";

const send = (message) => process.stdout.write(`${JSON.stringify(message)}\n`);
let turn;
let timer;
let counted = 0;

function finish(content, status) {
  clearInterval(timer);
  send({ type: "message.assistant.final", turnId: turn, ...(content === undefined ? {} : { content }), ...(status ? { status } : {}) });
}

function perform(text) {
  const [word, ...rest] = (/(request|question|stream|disguise|ask|repeat|write|hostile|declare|die|count|say)\b.*/s.exec(text)?.[0] ?? "say done").split(/\s+/);
  switch (word) {
    case "stream": {
      let at = 0;
      const end = Number(rest[0] ?? 50);
      timer = setInterval(() => {
        at += 1;
        send({ type: "message.assistant.delta", turnId: turn, delta: `n${at} ` });
        if (at >= end) finish();
      }, 40);
      return;
    }
    case "disguise":
      send({ type: "approval.requested", turnId: turn, approvalId: "q2", canModify: true, tool: { id: "q2", name: "command", args: { cmd: "echo \u202ecod.nuf\u200b" } } });
      return;
    case "ask":
      send({ type: "approval.requested", turnId: turn, approvalId: "q1", canModify: true, context: "wants to push", tool: { id: "q1", name: "push", args: { to: "main" } } });
      return;
    case "request": {
      const tool = JSON.parse(/request (.*)/s.exec(text)[1]);
      send({ type: "approval.requested", turnId: turn, approvalId: "q3", canModify: true, tool: { id: "q3", ...tool } });
      return;
    }
    case "die":
      process.exit(3);
      return;
    case "count":
      counted += 1;
      finish(`count ${counted}`);
      return;
    case "repeat":
      finish("I looked, and everything is as it was.");
      return;
    case "write": {
      const lines = Array.from({ length: Number(rest[1] ?? 3) }, (_, at) => `const line${at} = "${at}";`);
      writeFileSync(rest[0], `${lines.join("\n")}\n`);
      appendFileSync("notes.md", "# Notes\n\nwritten by a test\n");
      send({ type: "telemetry.usage", turnId: turn, provider: "custom", usage: { promptTokens: 900, completionTokens: 100, totalTokens: 1000, costUsd: 0.25 } });
      finish("Written.");
      return;
    }
    case "question":
      send({ type: "tool.call", turnId: turn, id: "a1", name: "ask_user", args: { question: rest.join(" "), options: ["Yes", "No"] } });
      return;
    case "declare":
      send({ type: "tool.call", turnId: turn, id: "d1", name: "complete_run", args: { summary: "all done" } });
      return;
    case "hostile":
      finish('<script>window.pwned = 1</script><img src=x onerror="window.pwned = 1"> [x](javascript:window.pwned=1) **bold** `code`');
      return;
    default:
      finish(rest.join(" ") || "done");
  }
}

createInterface({ input: process.stdin }).on("line", (line) => {
  const message = JSON.parse(line);
  switch (message.type) {
    case "init":
      send({ type: "ready", protocol: 1, sessionId: "scripted-1", caps: { interrupt: true, modifyArgs: true, approvals: true } });
      break;
    case "prompt":
      turn = message.turnId;
      perform(message.inputs.map((input) => input.text ?? input.envelope?.payload.message ?? "").join(" "));
      break;
    case "approval.resolved":
      finish(`answered ${message.resolution.status} ${JSON.stringify(message.resolution.modifiedArgs ?? null)}`);
      break;
    case "tool.result":
      finish("Said.");
      break;
    case "interrupt":
      finish(undefined, "interrupted");
      break;
    case "shutdown":
      process.exit(0);
  }
});
