// Measures the page on a large run: `MUSTER_STORE=folder node e2e/measure.mjs`. The folder holds a
// store with a run of 200 nodes and 100,000 events, as `fill_store FOLDER w run=100000` makes it.
import { launch } from "./world.mjs";

const world = await launch();
const stage = await world.stage();
stage.keptStorage = process.env.MUSTER_STORE;
const server = await stage.serve();
const { runs } = await server.call("GET", "/api/runs?view=summary");
const run = runs.sort((a, b) => b.lastSeq - a.lastSeq)[0];
console.log(`run of ${run.counts.nodes} nodes, ${run.counts.edges} edges, ${run.lastSeq} events`);

const page = await stage.enter(server);
const client = await page.context().newCDPSession(page);
await client.send("Performance.enable");
const metric = async (name) => (await client.send("Performance.getMetrics")).metrics.find((one) => one.name === name)?.value ?? 0;

const started = Date.now();
await page.goto("about:blank");
const from = Date.now();
await page.goto(`${server.base}/#/runs/${run.id}`);
await page.locator(".svelte-flow__node").first().waitFor();
await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
console.log(`first view: ${Date.now() - from} ms (browser start to sign-in: ${from - started} ms)`);

/** Frames that were drawn while something was done, by the browser's own trace. */
async function frames(name, work) {
  const browser = page.context().browser();
  await browser.startTracing(page, { categories: ["disabled-by-default-devtools.timeline.frame", "devtools.timeline.frame", "devtools.timeline"] });
  const begun = Date.now();
  await work();
  const seconds = (Date.now() - begun) / 1000;
  const trace = JSON.parse((await browser.stopTracing()).toString());
  const drawn = trace.traceEvents.filter((event) => event.name === "DrawFrame").length;
  const long = trace.traceEvents.filter((event) => event.name === "RunTask" && event.dur > 50_000).length;
  console.log(`${name}: ${(drawn / seconds).toFixed(1)} frames/s over ${seconds.toFixed(1)} s, ${long} tasks over 50 ms`);
}

const box = { x: 700, y: 450 };
await frames("pan", async () => {
  await page.mouse.move(box.x, box.y);
  await page.mouse.down();
  for (let at = 0; at < 180; at += 1) await page.mouse.move(box.x + Math.sin(at / 12) * 250, box.y + Math.cos(at / 12) * 150);
  await page.mouse.up();
});
await frames("zoom", async () => {
  for (let at = 0; at < 90; at += 1) await page.mouse.wheel(0, at % 60 < 30 ? -60 : 60);
});
const busiest = Object.values((await server.call("GET", `/api/runs/${run.id}?artifacts=none`)).run.nodes)[0];
await page.goto(`${server.base}/#/runs/${run.id}/${busiest.id}`);
await page.getByRole("region", { name: "Conversation" }).waitFor();
await frames("scroll the conversation", async () => {
  await page.getByRole("region", { name: "Conversation" }).hover();
  for (let at = 0; at < 120; at += 1) await page.mouse.wheel(0, -120);
});
await client.send("HeapProfiler.collectGarbage");
console.log(`memory: ${((await metric("JSHeapUsedSize")) / 1048576).toFixed(0)} MiB of scripts, ${await metric("Nodes")} elements`);
await stage.clear();
await world.close();
process.exit(0);
