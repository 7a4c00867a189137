// The events of one run, or of all runs, over a WebSocket that reconnects automatically (RUNS-WS).
//
//   open(since) ── hello ── stored events ── live ── new events
//     ╰─ lost: waits, resumes after the last number it has seen, so nothing is missed or doubled
import { ticket } from "./client";
import { Retry, type StreamState } from "./retry";
import type { RunEvent, StreamFrame } from "./wire";

export interface StreamWishes {
  /** One run; absent for all runs. */
  runId?: string;
  /** Number of the last known event. */
  since?: number;
  /** Event types to receive, in the format of the server's filter. */
  types?: string;
  /** Event types to leave out. */
  exclude?: string;
}

export interface StreamEars {
  events(batch: RunEvent[]): void;
  /** Some events will never arrive; the whole run follows as an event with `snapshot`. */
  gap(from: number | null, to: number | null): void;
  state(state: StreamState): void;
}

/** A connection that is silent for this long is sent a ping. */
const QUIET_MS = 20_000;
const CLOSED_RUN_DELETED = 4404;

export class Stream {
  #socket: WebSocket | undefined;
  #since: number | undefined;
  readonly #retry = new Retry(() => this.#open());
  #frame: number | undefined;
  #waiting: RunEvent[] = [];
  #heard = 0;
  #watch: ReturnType<typeof setInterval> | undefined;
  #closed = false;

  constructor(
    private readonly wishes: StreamWishes,
    private readonly ears: StreamEars,
  ) {
    this.#since = wishes.since;
    this.#open();
  }

  close(): void {
    this.#closed = true;
    this.#retry.close();
    this.#drop();
    if (this.#frame !== undefined) cancelAnimationFrame(this.#frame);
  }

  #address(ticket: string): string {
    const query = new URLSearchParams({ ticket });
    if (this.wishes.runId) query.set("runId", this.wishes.runId);
    if (this.wishes.runId && this.#since !== undefined) query.set("since", String(this.#since));
    if (this.wishes.types) query.set("types", this.wishes.types);
    if (this.wishes.exclude) query.set("exclude", this.wishes.exclude);
    const scheme = location.protocol === "https:" ? "wss:" : "ws:";
    return `${scheme}//${location.host}/ws?${query.toString()}`;
  }

  #open(): void {
    this.ears.state({ kind: "connecting" });
    void ticket().then(
      (given) => this.#closed || this.#connect(given),
      () => this.#closed || this.ears.state(this.#retry.lost()),
    );
  }

  #connect(ticket: string): void {
    const socket = new WebSocket(this.#address(ticket));
    this.#socket = socket;
    this.#heard = Date.now();
    socket.onmessage = (message) => this.#take(socket, String(message.data));
    socket.onclose = (event) => this.#lost(socket, event.code);
    this.#watch = setInterval(() => this.#probe(socket), QUIET_MS / 2);
  }

  /** Silence may be a dead connection: send a ping, and reconnect when no reply arrives. */
  #probe(socket: WebSocket): void {
    const quiet = Date.now() - this.#heard;
    if (quiet > 2 * QUIET_MS) {
      this.#lost(socket, 0);
      socket.close();
    } else if (quiet > QUIET_MS && socket.readyState === WebSocket.OPEN) {
      socket.send('{"type":"stream.ping"}');
    }
  }

  #take(socket: WebSocket, text: string): void {
    if (socket !== this.#socket) return;
    this.#heard = Date.now();
    const frame = JSON.parse(text) as RunEvent | StreamFrame | { type: "stream.pong" };
    switch (frame.type) {
      case "stream.hello":
        this.#retry.worked();
        this.ears.state({ kind: "catching-up" });
        return;
      case "stream.live":
        this.#flush();
        this.ears.state({ kind: "live" });
        return;
      case "stream.gap":
        this.#flush();
        this.ears.gap(frame.fromSeq ?? null, frame.toSeq ?? null);
        return;
      case "stream.end":
      case "stream.pong":
        return;
      default:
        this.#queue(frame);
    }
  }

  #queue(event: RunEvent): void {
    if (this.wishes.runId) {
      // Each number is applied once; a snapshot may go back, because it replaces everything.
      if (!event.snapshot && this.#since !== undefined && event.seq <= this.#since) return;
      this.#since = event.seq;
    }
    this.#waiting.push(event);
    // The page changes once per frame, however many events there are; hidden pages have no frames.
    if (this.#frame !== undefined) return;
    if (document.hidden) this.#flush();
    else this.#frame = requestAnimationFrame(() => this.#flush());
  }

  #flush(): void {
    if (this.#frame !== undefined) cancelAnimationFrame(this.#frame);
    this.#frame = undefined;
    if (this.#waiting.length === 0) return;
    const batch = this.#waiting;
    this.#waiting = [];
    this.ears.events(batch);
  }

  #drop(): void {
    clearInterval(this.#watch);
    const socket = this.#socket;
    this.#socket = undefined;
    if (!socket) return;
    socket.onmessage = null;
    socket.onclose = null;
    socket.close();
  }

  #lost(socket: WebSocket, code: number): void {
    if (socket !== this.#socket) return;
    this.#flush();
    this.#drop();
    if (this.#closed) return;
    if (code === CLOSED_RUN_DELETED) {
      this.ears.state({ kind: "ended", reason: "the run was deleted" });
      return;
    }
    this.ears.state(this.#retry.lost());
  }
}
