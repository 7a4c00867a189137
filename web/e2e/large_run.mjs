// The run with the longest history in a store, and the moment in which its graph is drawn.

/** The run and its address. */
export async function largestRun(server) {
  const { runs } = await server.call("GET", "/api/runs?view=summary");
  const run = runs.sort((a, b) => b.lastSeq - a.lastSeq)[0];
  return { run, place: `${server.base}/#/runs/${run.id}` };
}

/** Opens an address and waits until nodes are drawn; returns the milliseconds that it took. */
export async function firstView(page, place) {
  await page.goto("about:blank");
  const from = performance.now();
  await page.goto(place);
  await page.waitForFunction(() => document.querySelectorAll(".svelte-flow__node").length >= 20);
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
  return performance.now() - from;
}
