// The page stays small: all files together, and what the first view loads.
import assert from "node:assert/strict";
import { gzipSync } from "node:zlib";

const ALL_BYTES_MAX = 350 * 1024;
const FIRST_BYTES_MAX = 130 * 1024;

/** Compressed size of the files that a view requests. */
async function needed(stage, page, address) {
  const asked = [];
  const hear = (response) => asked.push(response);
  await page.goto("about:blank");
  page.on("response", hear);
  await page.goto(address);
  await stage.loaded();
  page.off("response", hear);
  const files = asked.filter((response) => /^\/(?:assets\/.*)?$/.test(new URL(response.url()).pathname));
  const bodies = await Promise.all(files.map((response) => response.body()));
  return bodies.reduce((sum, body) => sum + gzipSync(body, { level: 9 }).length, 0);
}

export const scenarios = {
  async "the first view needs less than 130 KB, and a run with its graph too"(stage) {
    const server = await stage.withRun();
    const page = await stage.enter(server);
    for (const place of ["#/attention", "#/runs", `#/runs/${server.run}`]) {
      const bytes = await needed(stage, page, `${server.base}/${place}`);
      console.log(`  ${place.slice(0, 12)}: ${(bytes / 1024).toFixed(0)} KB`);
      assert.ok(bytes > 10_000 && bytes < FIRST_BYTES_MAX, `${place}: ${bytes} bytes`);
    }
  },

  async "all files together are less than 350 KB"(stage) {
    const server = await stage.serve();
    const seen = new Set();
    const open = ["/"];
    let sum = 0;
    while (open.length > 0) {
      const path = open.pop();
      if (seen.has(path)) continue;
      seen.add(path);
      const response = await fetch(server.base + path);
      assert.equal(response.status, 200, path);
      const body = Buffer.from(await response.arrayBuffer());
      sum += gzipSync(body, { level: 9 }).length;
      for (const [, name] of body.toString("utf8").matchAll(/[/"](?:assets\/|\.\/)([\w-]+\.(?:js|css|svg))"/g)) open.push(`/assets/${name}`);
    }
    console.log(`  ${seen.size} files, ${(sum / 1024).toFixed(0)} KB`);
    assert.ok(seen.size > 20 && sum < ALL_BYTES_MAX, `${seen.size} files, ${sum} bytes`);
  },
};
