// Measures the first view of a large run: `MUSTER_STORE=folder node e2e/first_view.mjs 5` prints the
// milliseconds of five views, each in a browser that has loaded nothing of the page before.
import { firstView, largestRun } from "./large_run.mjs";
import { launch } from "./world.mjs";

const world = await launch();
const stage = await world.stage();
stage.keptStorage = process.env.MUSTER_STORE;
try {
  const server = await stage.serve();
  const { place } = await largestRun(server);
  const signedIn = await stage.enter(server);
  const storageState = await signedIn.context().storageState();
  for (let at = 0; at < Number(process.argv[2] ?? 1); at += 1) {
    const page = await stage.page({ storageState });
    console.log((await firstView(page, place)).toFixed(1));
    await page.context().close();
  }
} finally {
  await stage.clear();
  await world.close();
}
