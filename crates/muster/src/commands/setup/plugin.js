// Muster: shows the sessions of opencode. Written by `muster setup opencode --write`, which also
// updates this file, and taken out by `muster setup opencode --remove`.
import { spawn, spawnSync } from "node:child_process";

const COMMAND = [];
const FORWARDED = new Set([
  "session.created",
  "session.updated",
  "session.idle",
  "session.error",
  "session.deleted",
  "todo.updated",
  "permission.asked",
  "permission.updated",
  "permission.replied",
  "question.asked",
  "question.replied",
  "question.rejected",
]);
const STATES = new Set(["running", "completed", "error"]);

export const Muster = async ({ directory }) => {
  let version;
  let last = Promise.resolve();
  const sent = new Map();
  const questions = new Set();
  const open = new Set();

  const body = (type, properties) => JSON.stringify({ event: { type, properties }, directory, version });

  // One after the other, so that reports keep their order. opencode does not wait for them.
  const report = (type, properties) => {
    const input = body(type, properties);
    last = last.then(
      () =>
        new Promise((done) => {
          try {
            const child = spawn(COMMAND[0], COMMAND.slice(1), { stdio: ["pipe", "ignore", "ignore"] });
            child.on("error", done);
            child.on("close", done);
            child.stdin.on("error", () => undefined);
            child.stdin.end(input);
          } catch {
            done();
          }
        }),
    );
  };

  // Text and calls are updated piece by piece: one report for each state that a person sees.
  const part = (given) => {
    const { id, type, messageID } = given;
    const state = type === "tool" ? given.state?.status : type === "text" && given.time?.end ? "said" : undefined;
    if (type === "text" && (questions.has(messageID) || given.synthetic || state === undefined)) return;
    if (type !== "text" && !STATES.has(state)) return;
    if (sent.get(id) === state) return;
    sent.set(id, state);
    report("message.part.updated", { part: given });
  };

  process.on("exit", () => {
    for (const sessionID of open) {
      try {
        const input = body("server.exit", { sessionID });
        spawnSync(COMMAND[0], COMMAND.slice(1), { input, stdio: ["pipe", "ignore", "ignore"], timeout: 250 });
      } catch {
        // Nothing may keep opencode from ending.
      }
    }
  });

  return {
    "chat.message": async (input, output) => {
      const texts = (output.parts ?? []).filter((one) => one.type === "text" && !one.synthetic);
      if (output.message?.id) questions.add(output.message.id);
      const text = texts.map((one) => one.text).join("\n");
      report("chat.message", { sessionID: input.sessionID, text });
    },
    event: async ({ event }) => {
      const { type, properties } = event;
      if (type === "session.created" || type === "session.updated") {
        version = properties.info?.version ?? version;
        if (properties.info?.parentID) return;
        const { id, title, model } = properties.info ?? {};
        open.add(id);
        const known = `${title} ${model?.id}`;
        if (sent.get(id) === known) return;
        sent.set(id, known);
      }
      if (type === "session.deleted") open.delete(properties.info?.id);
      if (type === "message.part.updated") part(properties.part);
      else if (FORWARDED.has(type)) report(type, properties);
    },
  };
};
