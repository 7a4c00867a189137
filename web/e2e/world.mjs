// A browser, and for each scenario a stage: folders, servers and pages that are removed afterwards.
import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { chromium } from "playwright-core";

const MUSTER = process.env.MUSTER ?? resolve(import.meta.dirname, "../../target/debug/muster");
const CHROMIUM = process.env.CHROMIUM ?? "/usr/bin/chromium";
const SHOTS = process.env.MUSTER_SHOTS ?? resolve(import.meta.dirname, "../../target/web/shots");
const IMAGES = resolve(import.meta.dirname, "../../docs/images");
const START_MS_MAX = 30_000;
const FLAGS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

/** A fresh build instead of the one inside the program, for work on the page. */
const DIST = process.env.MUSTER_DIST;

async function fromFolder(route) {
  const { pathname } = new URL(route.request().url());
  const path = join(resolve(DIST), pathname === "/" ? "index.html" : pathname);
  const policy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
  await route.fulfill({ path, headers: { "content-security-policy": policy, "content-type": TYPES[path.split(".").pop()] } });
}
const TYPES = { html: "text/html", js: "text/javascript", css: "text/css", svg: "image/svg+xml" };

export async function launch() {
  // A page from a folder has no origin of its own, and may not connect to this machine by default.
  const args = DIST ? [...FLAGS, "--disable-features=LocalNetworkAccessChecks"] : FLAGS;
  const browser = await chromium.launch({ executablePath: CHROMIUM, args });
  return { stage: () => Stage.set(browser), close: () => browser.close() };
}

/** The requests of a page that are under way. Event streams stay open, so they do not count. */
class Traffic {
  #open = new Set();
  #changed = Date.now();

  constructor(page) {
    page.on("request", (request) => this.#note(() => isStream(request) || this.#open.add(request)));
    for (const end of ["requestfinished", "requestfailed"]) {
      page.on(end, (request) => this.#note(() => this.#open.delete(request)));
    }
  }

  #note(change) {
    change();
    this.#changed = Date.now();
  }

  isQuiet() {
    return this.#open.size === 0 && Date.now() - this.#changed > QUIET_MS;
  }
}
const QUIET_MS = 500;
const isStream = (request) => /\/(changes|events)(\?|$)/.test(request.url());

/** A program that prints its link; it ends with the stage. */
class Program {
  constructor(child) {
    this.child = child;
    this.output = "";
    this.ended = new Promise((done) => child.once("exit", done));
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (text) => (this.output += text));
  }

  async line(pattern) {
    const deadline = Date.now() + START_MS_MAX;
    for (;;) {
      const found = pattern.exec(this.output);
      if (found) return found;
      if (Date.now() > deadline || this.child.exitCode !== null) throw new Error(`no ${pattern} in:\n${this.output}`);
      await new Promise((done) => setTimeout(done, 20));
    }
  }

  async end(signal = "SIGTERM") {
    this.child.kill(signal);
    await this.ended;
  }
}

export class Stage {
  static async set(browser) {
    const stage = new Stage();
    stage.folder = mkdtempSync(join(tmpdir(), "muster-web-"));
    stage.programs = [];
    stage.contexts = [];
    stage.complaints = [];
    stage.browser = browser;
    mkdirSync(join(stage.folder, "project"));
    return stage;
  }

  get storage() {
    return this.keptStorage ?? join(this.folder, "store");
  }

  get project() {
    return join(this.folder, "project");
  }

  /** Programs for nodes: `{name: [file, content]}` becomes a profile that runs the file with Node. */
  write(name, text) {
    const file = join(this.folder, name);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
    return file;
  }

  start(args, cwd = this.project, input = "ignore") {
    const env = { PATH: process.env.PATH, HOME: this.folder, USER: "ada", LANG: "C.UTF-8" };
    const program = new Program(spawn(MUSTER, args, { cwd, env, stdio: [input, "pipe", "pipe"] }));
    this.programs.push(program);
    return program;
  }

  /** Lets the nodes of servers that start from now on be the scripted agent. */
  scripted() {
    const agent = resolve(import.meta.dirname, "agent.mjs");
    mkdirSync(this.storage, { recursive: true });
    const command = JSON.stringify([process.execPath, agent]);
    writeFileSync(join(this.storage, "runs.toml"), `roots = ["/"]\ndefault_permissions_mode = "skip"\n[profiles.custom.default]\ncommand = ${command}\n`);
  }

  /** A server whose nodes can be the scripted agent, with a run of one working node. */
  async withRun(fields = {}, node = {}) {
    this.scripted();
    const server = await this.serve();
    const { run } = await server.call("POST", "/api/runs", {
      name: "Browser test",
      cwd: this.project,
      mode: "INTERACTIVE",
      nodes: [{ label: "Worker", alias: "worker", provider: "custom", ...node }],
      ...fields,
    });
    await this.until(async () => (await server.call("GET", `/api/runs/${run.id}`)).run.phase === "EXECUTE");
    const [id] = Object.keys(run.nodes);
    const say = (content) => server.call("POST", `/api/runs/${run.id}/chat`, { nodeId: id, content });
    return { ...server, run: run.id, node: id, say, place: `${server.base}/#/runs/${run.id}/${id}` };
  }

  /** Waits for a condition, with a timeout. */
  async until(condition, ms = 30_000) {
    const deadline = Date.now() + ms;
    while (!(await condition())) {
      if (Date.now() > deadline) throw new Error(`it did not happen: ${condition}`);
      await new Promise((done) => setTimeout(done, 50));
    }
  }

  /** A signed-in page. */
  async enter(server, options = {}) {
    const page = await this.page(options);
    await page.goto(server.link);
    await page.getByRole("navigation", { name: "Main" }).waitFor();
    return page;
  }

  /** A server; its address and the link that signs a browser in. */
  async serve(port = 0) {
    const program = this.start(["serve", "--addr", `127.0.0.1:${port}`, "--storage-dir", this.storage]);
    const [, link] = await program.line(/(http:\/\/[\d.:]+\/#code=\w+)/);
    const base = link.split("/#")[0];
    return { program, link, base, port: Number(base.split(":").pop()), call: (...args) => this.call(base, ...args) };
  }

  /** A request with the person's rights. */
  async call(base, method, path, body, storage = this.storage) {
    const key = readFileSync(join(storage, "person", "key"), "utf8").trim();
    const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
    const init = { method, headers };
    if (body !== undefined) init.body = JSON.stringify(body);
    const response = await fetch(base + path, init);
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
    return text ? JSON.parse(text) : undefined;
  }

  /** Waits until the current page has loaded what it asked for. */
  async loaded() {
    await this.until(() => this.traffic.isQuiet());
  }

  /** A page of its own that records every error of the browser. */
  async page(options = {}) {
    const context = await this.browser.newContext({ viewport: { width: 1280, height: 800 }, ...options });
    this.contexts.push(context);
    if (DIST) await context.route((url) => url.pathname === "/" || url.pathname.startsWith("/assets/"), fromFolder);
    const page = await context.newPage();
    page.on("pageerror", (error) => this.complaints.push(`page error: ${error.message}`));
    page.on("console", (message) => {
      const text = message.text();
      const expected = /ERR_CONNECTION|WebSocket connection|status of 4(0[01349]|22)|net::ERR/.test(text);
      if (message.type() === "error" && !expected) this.complaints.push(`console: ${text}`);
    });
    this.current = page;
    this.traffic = new Traffic(page);
    return page;
  }

  async picture(name) {
    mkdirSync(SHOTS, { recursive: true });
    // What a person types into is in the picture, on a phone, too.
    await this.current?.evaluate(() => document.activeElement?.scrollIntoView({ block: "nearest" }));
    await this.current?.screenshot({ path: join(SHOTS, `${name}.png`) });
  }

  /** A picture that the documentation shows. */
  async illustration(name) {
    mkdirSync(IMAGES, { recursive: true });
    await this.current?.screenshot({ path: join(IMAGES, `${name}.png`) });
  }

  complaint() {
    return this.complaints.length > 0 ? new Error(this.complaints.join("\n")) : undefined;
  }

  async clear() {
    for (const context of this.contexts) await context.close();
    for (const program of this.programs) {
      if (program.child.exitCode === null && program.child.signalCode === null) await program.end("SIGKILL");
    }
    rmSync(this.folder, { recursive: true, force: true });
  }
}
