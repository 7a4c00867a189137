// The projects that people have decided about, and the one of a folder that a person names.
import { SvelteMap } from "svelte/reactivity";
import { get, post } from "../../api/client";
import type { Project } from "../../api/wire";
import { byNeed } from "../../state/projects";
import { refusalOf, type Refusal } from "../work/checks/refusal";

/** Files change without a notice. */
const LOOK_MS = 15_000;

class Projects {
  list = $state.raw<readonly Project[]>([]);
  loaded = $state(false);
  /** Why the folder that was named cannot be looked at. */
  refusal = $state.raw<Refusal | undefined>();
  /** What is under way, by root. */
  readonly busy = new SvelteMap<string, string>();
  /** Errors of the last decision, by root. */
  readonly refusals = new SvelteMap<string, Refusal>();
  #directory = "";

  /** Keeps the list up to date until the returned function is called. */
  follow(): () => void {
    const look = (): void => {
      if (!document.hidden) void this.refresh();
    };
    const timer = setInterval(look, LOOK_MS);
    document.addEventListener("visibilitychange", look);
    void this.refresh();
    return () => {
      clearInterval(timer);
      document.removeEventListener("visibilitychange", look);
    };
  }

  /** Adds the project of a folder to the list. */
  async look(directory: string): Promise<void> {
    this.#directory = directory;
    await this.refresh();
  }

  async refresh(): Promise<void> {
    try {
      const query = this.#directory ? { directory: this.#directory } : {};
      this.list = byNeed((await get("/api/projects", { query })).projects);
      this.refusal = undefined;
    } catch (error) {
      this.refusal = refusalOf(error);
      // The others are shown all the same.
      if (this.#directory) {
        this.#directory = "";
        await this.#known();
      }
    }
    this.loaded = true;
  }

  async #known(): Promise<void> {
    try {
      this.list = byNeed((await get("/api/projects")).projects);
    } catch {
      // The error that is shown says why.
    }
  }

  /** Records a decision about the definition that is shown. */
  async decide(root: string, digest: string, decision: "accept" | "keep"): Promise<boolean> {
    this.busy.set(root, decision);
    this.refusals.delete(root);
    let done = true;
    try {
      await post("/api/projects/decide", { body: { root, digest, decision } });
    } catch (error) {
      done = false;
      this.refusals.set(root, refusalOf(error));
    }
    await this.refresh();
    this.busy.delete(root);
    return done;
  }
}

export const projects = new Projects();
