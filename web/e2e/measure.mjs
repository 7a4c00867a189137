// Measures the page on a large run: `MUSTER_STORE=folder node e2e/measure.mjs`. The folder holds a
// store with a run of 200 nodes and 100,000 events, as `fill_store FOLDER w run=100000` makes it.
import { readFileSync } from "node:fs";
import { firstView, largestRun } from "./large_run.mjs";
import { launch } from "./world.mjs";

const world = await launch();
const stage = await world.stage();
stage.keptStorage = process.env.MUSTER_STORE;
const server = await stage.serve();
const { run, place } = await largestRun(server);
console.log(`run of ${run.counts.nodes} nodes, ${run.counts.edges} edges, ${run.lastSeq} events`);

const page = await stage.enter(server);
const client = await page.context().newCDPSession(page);
await client.send("Performance.enable");
const metric = async (name) => (await client.send("Performance.getMetrics")).metrics.find((one) => one.name === name)?.value ?? 0;

console.log(`first view: ${(await firstView(page, place)).toFixed(0)} ms`);

/** Memory of the whole tab: scripts, elements, and the memory that only its process uses. */
async function weigh(name) {
  await client.send("HeapProfiler.collectGarbage");
  const { nodes, jsEventListeners } = await client.send("Memory.getDOMCounters");
  const browser = await page.context().browser().newBrowserCDPSession();
  const { processInfo } = await browser.send("SystemInfo.getProcessInfo");
  const renderers = processInfo.filter((one) => one.type === "renderer").map((one) => resident(one.id));
  const tab = renderers.sort((a, b) => b.own - a.own)[0];
  const scripts = ((await metric("JSHeapUsedSize")) / 1048576).toFixed(0);
  console.log(`memory, ${name}: tab ${tab.own} MiB of its own, ${tab.all} MiB with what it shares; scripts ${scripts} MiB, ${nodes} elements, ${jsEventListeners} listeners`);
}

/** The memory of a process: private pages, and everything that is mapped and resident. */
function resident(pid) {
  const text = readFileSync(`/proc/${pid}/smaps_rollup`, "utf8");
  const mib = (name) => [...text.matchAll(new RegExp(`^${name}:\\s+(\\d+) kB`, "gm"))].reduce((sum, [, kib]) => sum + Number(kib), 0) / 1024;
  return { own: Math.round(mib("Private_Dirty") + mib("Private_Clean")), all: Math.round(mib("Rss")) };
}

/** Frames rendered while something was done in every frame, from the browser's own trace. */
async function frames(name, work) {
  const browser = page.context().browser();
  await browser.startTracing(page, { categories: ["devtools.timeline.frame", "disabled-by-default-devtools.timeline.frame", "toplevel"] });
  const { seconds, ran } = await page.evaluate(work);
  const trace = JSON.parse((await browser.stopTracing()).toString());
  const drawn = trace.traceEvents.filter((event) => event.name === "DrawFrame").length;
  const long = trace.traceEvents.filter((event) => event.name.endsWith("RunTask") && event.dur > 50_000).length;
  console.log(`${name}: ${(drawn / seconds).toFixed(1)} frames/s by trace, ${(ran / seconds).toFixed(1)} by the page, ${long} tasks over 50 ms`);
}

await page.waitForTimeout(1000);
await frames("pan", () => {
  const pane = document.querySelector(".svelte-flow__pane");
  const send = (type, target, x, y) => target.dispatchEvent(new MouseEvent(type, { bubbles: true, cancelable: true, view: window, button: 0, buttons: 1, clientX: x, clientY: y }));
  send("mousedown", pane, 700, 450);
  return new Promise((done) => {
    const begun = performance.now();
    let ran = 0;
    const step = (now) => {
      ran += 1;
      send("mousemove", window, 700 + Math.sin(ran / 20) * 300, 450 + Math.cos(ran / 20) * 200);
      if (now - begun < 3000) return requestAnimationFrame(step);
      send("mouseup", window, 700, 450);
      done({ seconds: (now - begun) / 1000, ran });
    };
    requestAnimationFrame(step);
  });
});
await frames("zoom", () => {
  const pane = document.querySelector(".svelte-flow__pane");
  return new Promise((done) => {
    const begun = performance.now();
    let ran = 0;
    const step = (now) => {
      ran += 1;
      pane.dispatchEvent(new WheelEvent("wheel", { bubbles: true, cancelable: true, clientX: 700, clientY: 450, deltaY: ran % 80 < 40 ? -12 : 12 }));
      if (now - begun < 3000) return requestAnimationFrame(step);
      done({ seconds: (now - begun) / 1000, ran });
    };
    requestAnimationFrame(step);
  });
});
const nodes = Object.values((await server.call("GET", `/api/runs/${run.id}?artifacts=none`)).run.nodes);
// The one with the longest conversation.
const busiest = nodes.sort((a, b) => b.usage.turns - a.usage.turns)[0];
await page.goto(`${server.base}/#/runs/${run.id}/${busiest.id}`);
await page.getByRole("region", { name: "Conversation" }).waitFor();
await page.waitForTimeout(500);
await frames("scroll the conversation", () => {
  const view = document.querySelector('[aria-label="Conversation"]');
  return new Promise((done) => {
    const begun = performance.now();
    let ran = 0;
    const step = (now) => {
      ran += 1;
      view.scrollTop -= 25;
      if (now - begun < 3000) return requestAnimationFrame(step);
      done({ seconds: (now - begun) / 1000, ran });
    };
    requestAnimationFrame(step);
  });
});
await weigh("conversation");
await firstView(page, place);
await weigh("graph");
await page.keyboard.press("/");
const asked = Date.now();
await page.getByRole("combobox").fill("nowhere to be found");
await page.getByText("Nothing in the store contains all these words.").waitFor({ timeout: 60_000 });
console.log(`search of the whole store: ${Date.now() - asked} ms`);
await weigh("after the search");
await stage.clear();
await world.close();
process.exit(0);
