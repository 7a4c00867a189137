// How the page is built: one small first chunk, a chunk per view, every file named by its content.
import { svelte } from "@sveltejs/vite-plugin-svelte";
import { defineConfig } from "vitest/config";

export default defineConfig({
  plugins: [svelte()],
  build: {
    target: "es2022",
    outDir: process.env["MUSTER_WEB_DIST"] ?? "../target/web/dist",
    emptyOutDir: true,
    assetsDir: "assets",
    // A data: address would need a weaker Content-Security-Policy.
    assetsInlineLimit: 0,
    cssCodeSplit: true,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    // Packages of the program list these: what of others is in the page.
    license: { fileName: "licenses.json" },
  },
  server: {
    proxy: { "/api": "http://127.0.0.1:7717", "/sessions": "http://127.0.0.1:7717", "/ws": { target: "http://127.0.0.1:7717", ws: true } },
  },
  test: { include: ["test/**/*.test.ts"], environment: "node" },
});
