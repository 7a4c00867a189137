// The server-sent event stream of one session, which reconnects automatically (SS-7, SS-11).
//
//   newest N events ─ hello ─ snapshots ─ stored events ─ live events
//     ╰─ lost: waits, checks that the session still exists, and resumes after the last number
import { get, Refused } from "./client";
import { parseExact } from "./exact";
import { Retry, type StreamState } from "./retry";
import { EventReader } from "./sse";
import type { SessionEvent } from "./wire";

export interface SessionEars {
  /** Everything starts over: discard what is known. */
  begun(): void;
  /** Events in order; the lists sent with the connection already include the `covered` ones. */
  events(batch: readonly SessionEvent[], covered: boolean): void;
  state(state: StreamState): void;
}

export class SessionStream {
  #source: EventReader | undefined;
  #since: number | undefined;
  /** Newest event when the connection was made. */
  #newest = 0;
  /** The snapshots of the connection include everything up to this number. */
  #covered = 0;
  readonly #retry = new Retry(() => void this.#reopen());
  #frame: number | undefined;
  #waiting: SessionEvent[] = [];
  #closed = false;

  constructor(
    private readonly session: string,
    private readonly ears: SessionEars,
    /** How many events the first connection asks for; 0 asks for all. */
    private readonly newest: number,
  ) {
    this.#open();
  }

  close(): void {
    this.#closed = true;
    this.#retry.close();
    this.#source?.close();
    if (this.#frame !== undefined) cancelAnimationFrame(this.#frame);
  }

  #address(): string {
    const path = `/sessions/${encodeURIComponent(this.session)}/events`;
    if (this.#since !== undefined) return `${path}?from_id=${this.#since}`;
    return this.newest > 0 ? `${path}?replay=true&limit=${this.newest}` : `${path}?replay=true`;
  }

  #open(): void {
    this.ears.state({ kind: "connecting" });
    const source: EventReader = new EventReader(this.#address(), {
      message: (data) => source === this.#source && this.#take(data),
      ended: () => source === this.#source && this.#lost(),
    });
    this.#source = source;
  }

  #take(text: string): void {
    const event = parseExact(text) as SessionEvent;
    if (event.type === "stream.hello") {
      this.#retry.worked();
      this.#newest = Number(event.data["last_seq"] ?? 0);
      this.#covered = this.#since === undefined ? this.#newest : 0;
      if (this.#since === undefined) this.ears.begun();
      const behind = Number(event.data["after_seq"] ?? 0) < this.#newest;
      this.ears.state({ kind: behind ? "catching-up" : "live" });
    }
    if (event.type === "stream.gap") {
      // Resuming after the last number fetches what was dropped.
      this.#source?.close();
      this.#flush();
      this.#open();
      return;
    }
    const seq = event.seq;
    if (seq !== undefined) {
      if (this.#since !== undefined && seq <= this.#since) return;
      this.#since = seq;
    }
    this.#waiting.push(event);
    if (document.hidden) this.#flush();
    else this.#frame ??= requestAnimationFrame(() => this.#flush());
  }

  #flush(): void {
    if (this.#frame !== undefined) cancelAnimationFrame(this.#frame);
    this.#frame = undefined;
    const batch = this.#waiting;
    this.#waiting = [];
    const covered = (event: SessionEvent): boolean => (event.seq ?? 0) <= this.#covered;
    const old = batch.filter(covered);
    const fresh = batch.filter((event) => !covered(event));
    if (old.length > 0) this.ears.events(old, true);
    if (fresh.length > 0) this.ears.events(fresh, false);
    if ((this.#since ?? 0) >= this.#newest) this.ears.state({ kind: "live" });
  }

  #lost(): void {
    this.#flush();
    this.#source?.close();
    this.#source = undefined;
    if (this.#closed) return;
    this.ears.state(this.#retry.lost());
  }

  /** A refused stream does not say why, so the session is requested first. */
  async #reopen(): Promise<void> {
    try {
      const session = await get("/sessions/{id}", { path: { id: this.session } });
      // A log that is shorter than what is known is a different log.
      if (this.#since !== undefined && session.last_seq < this.#since) this.#since = undefined;
    } catch (error) {
      if (error instanceof Refused && (error.status === 404 || error.status === 410)) {
        this.ears.state({ kind: "ended", reason: "the session was deleted" });
        return;
      }
      if (!this.#closed) this.#lost();
      return;
    }
    if (!this.#closed) this.#open();
  }
}
