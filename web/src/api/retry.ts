// Reconnecting to a server: after growing pauses, and at once when the person or the network comes back.

export type StreamState =
  | { kind: "connecting" }
  | { kind: "catching-up" }
  | { kind: "live" }
  | { kind: "waiting"; retryAt: number; attempt: number }
  | { kind: "ended"; reason: string };

const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 10_000;

export class Retry {
  #attempt = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(private readonly again: () => void) {
    addEventListener("online", this.#now);
    document.addEventListener("visibilitychange", this.#now);
  }

  /** The connection works: the next pause is short again. */
  worked(): void {
    this.#attempt = 0;
  }

  /** The connection is lost: retry after a pause. */
  lost(): StreamState {
    const pause = Math.min(FIRST_PAUSE_MS * 2 ** this.#attempt, LONGEST_PAUSE_MS);
    this.#attempt += 1;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(this.#go, pause);
    return { kind: "waiting", retryAt: Date.now() + pause, attempt: this.#attempt };
  }

  close(): void {
    removeEventListener("online", this.#now);
    document.removeEventListener("visibilitychange", this.#now);
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  /** Retries now instead of waiting for the pause to end. */
  readonly #now = (): void => {
    if (this.#timer !== undefined && !document.hidden) this.#go();
  };

  readonly #go = (): void => {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.again();
  };
}
