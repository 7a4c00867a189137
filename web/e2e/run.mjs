// Runs every scenario against real servers in a real browser; the last line is `N passed, N failed`.
import { readdirSync } from "node:fs";
import { launch } from "./world.mjs";

const only = process.argv.slice(2).filter((word) => !word.startsWith("--"));
const shots = process.argv.includes("--shots");
/** Screenshots of everything take longer than any one scenario. */
const SCENARIO_MS_MAX = shots ? 300_000 : 120_000;
const folder = new URL(shots ? "./shots/" : "./scenarios/", import.meta.url);

const world = await launch();
let passed = 0;
let failed = 0;
for (const file of readdirSync(folder).filter((name) => name.endsWith(".mjs")).sort()) {
  const { scenarios } = await import(new URL(file, folder).href);
  for (const [name, scenario] of Object.entries(scenarios)) {
    if (only.length > 0 && !only.some((word) => name.includes(word) || file.includes(word))) continue;
    const started = Date.now();
    const error = await attempt(scenario);
    const time = `${((Date.now() - started) / 1000).toFixed(1)} s`;
    if (error) {
      failed += 1;
      console.log(`FAILED ${name} (${time})\n${error.stack ?? error}`);
    } else {
      passed += 1;
      console.log(`ok ${name} (${time})`);
    }
  }
}
await world.close();
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed > 0 ? 1 : 0);

/** Runs one scenario on its own stage; returns the error, if any. */
async function attempt(scenario) {
  const stage = await world.stage();
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`took longer than ${SCENARIO_MS_MAX} ms`)), SCENARIO_MS_MAX);
  });
  try {
    await Promise.race([scenario(stage), late]);
    return stage.complaint();
  } catch (error) {
    await stage.picture("failed").catch(() => undefined);
    return error;
  } finally {
    clearTimeout(timer);
    await stage.clear();
  }
}
