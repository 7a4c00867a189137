// Whether the server can be reached and whether this browser is signed in, for every view.
import { onReach, get, signIn } from "../../api/client";

export type Reach = "unknown" | "reached" | "lost";
const LOOK_MS = 3_000;

class Server {
  reach = $state<Reach>("unknown");
  signedIn = $state<boolean | undefined>();
  refusal = $state("");
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor() {
    onReach((fact) => {
      if (fact === "unauthorized") this.signedIn = false;
      this.reach = fact === "lost" ? "lost" : "reached";
      if (fact === "lost") this.#look();
    });
  }

  /** Uses the code of a printed link, then asks whether this browser is signed in. */
  async start(): Promise<void> {
    const code = new URLSearchParams(location.hash.slice(1)).get("code");
    if (code) {
      // The code must not stay in the history, used or not.
      history.replaceState(null, "", location.pathname);
      await this.enter({ code });
      if (this.signedIn) return;
    }
    await this.#ask();
  }

  async enter(secret: { code: string } | { token: string }): Promise<void> {
    try {
      await signIn(secret);
      this.signedIn = true;
      this.refusal = "";
    } catch (error) {
      this.signedIn = false;
      this.refusal = error instanceof Error ? error.message : String(error);
    }
  }

  async #ask(): Promise<void> {
    try {
      await get("/api/about");
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
