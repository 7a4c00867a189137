// Whether the server can be reached and whether this browser is signed in, for every view.
import { get, onReach, Refused, signIn, type Presented, type Role } from "../../api/client";
import type { About } from "../../api/wire";

export type Reach = "unknown" | "reached" | "lost";
const LOOK_MS = 3_000;

class Server {
  reach = $state<Reach>("unknown");
  /** How often the server came back. What was loaded once, and failed, is loaded again when this changes. */
  returns = $state(0);
  signedIn = $state<boolean | undefined>();
  /** What this browser may do. */
  role = $state<Role>("agent");
  refusal = $state("");
  /** The first part of a sign-in that also needs a passphrase. */
  waiting = $state.raw<Presented | undefined>();
  /** Which parts of C-Trees the server's settings let the page show. */
  ctrees = $state.raw<About["ctrees"]>({ summary: false, taskNode: false });
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor() {
    onReach((fact) => {
      if (fact === "unauthorized") this.signedIn = false;
      if (fact !== "lost" && this.reach === "lost") this.returns += 1;
      this.reach = fact === "lost" ? "lost" : "reached";
      if (fact === "lost") this.#look();
    });
  }

  /** Uses the code of a printed link, then checks whether this browser is signed in. */
  async start(): Promise<void> {
    const code = new URLSearchParams(location.hash.slice(1)).get("code");
    if (code) {
      // The code must not stay in the browser history, used or not.
      history.replaceState(null, "", location.pathname);
      await this.enter({ code });
      if (this.signedIn || this.waiting) return;
    }
    await this.#ask();
  }

  async enter(presented: Presented): Promise<void> {
    try {
      this.role = await signIn(presented);
      this.signedIn = true;
      this.refusal = "";
      this.waiting = undefined;
      void this.#ask();
    } catch (error) {
      this.signedIn = false;
      const needed = error instanceof Refused && error.code === "PASSPHRASE_REQUIRED";
      if (needed) this.waiting = presented;
      this.refusal = needed ? "" : error instanceof Error ? error.message : String(error);
    }
  }

  async #ask(): Promise<void> {
    try {
      this.role = (await get("/api/session")).role;
      const about = await get("/api/about");
      this.ctrees = about.ctrees;
      this.signedIn = true;
    } catch {
      if (this.reach === "lost") this.#look();
    }
  }

  #look(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#ask(), LOOK_MS);
  }
}

export const server = new Server();
