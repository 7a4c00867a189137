#!/usr/bin/env node
"use strict";

const { spawn } = require("node:child_process");
const { constants } = require("node:os");

const name = `muster-${process.platform}-${process.arch}`;

let program;
try {
  program = require.resolve(`${name}/bin/muster`);
} catch {
  console.error(`muster: there is no program for ${process.platform} on ${process.arch}: the package ${name} is not installed.`);
  console.error("Install again without --omit=optional (npm) or --no-optional (yarn).");
  process.exit(1);
}

const child = spawn(program, process.argv.slice(2), { stdio: "inherit" });
// The program decides what a signal means and when it is finished.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {
  process.on(signal, () => child.kill(signal));
}
child.on("error", (error) => {
  console.error(`muster: ${program} could not be started: ${error.message}`);
  process.exit(1);
});
child.on("exit", (code, signal) => {
  process.exit(signal ? 128 + constants.signals[signal] : code);
});
