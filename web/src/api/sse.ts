// Server-sent events over fetch, because an EventSource cannot send a header.
import { open } from "./client";

export interface EventEars {
  message(data: string): unknown;
  /** The stream ended or was refused; it does not reconnect. */
  ended(): unknown;
}

export class EventReader {
  readonly #abort = new AbortController();

  constructor(
    address: string,
    private readonly ears: EventEars,
  ) {
    void this.#read(address);
  }

  close(): void {
    this.#abort.abort();
  }

  async #read(address: string): Promise<void> {
    try {
      const response = await open(address, this.#abort.signal);
      const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
      const lines = new EventLines((data) => this.#abort.signal.aborted || this.ears.message(data));
      for (;;) {
        const piece = await reader?.read();
        if (!piece || piece.done) break;
        lines.take(piece.value);
      }
    } catch {
      // The listener finds out why, if it matters.
    }
    if (!this.#abort.signal.aborted) this.ears.ended();
  }
}

/** Joins chunks of text into events, of which only the data matters here. */
export class EventLines {
  #rest = "";
  #data: string[] = [];

  constructor(private readonly said: (data: string) => void) {}

  take(piece: string): void {
    const lines = (this.#rest + piece).split("\n");
    this.#rest = lines.pop() ?? "";
    for (const line of lines) this.#line(line.endsWith("\r") ? line.slice(0, -1) : line);
  }

  #line(line: string): void {
    if (line === "") {
      const data = this.#data;
      this.#data = [];
      if (data.length > 0) this.said(data.join("\n"));
    } else if (line.startsWith("data:")) {
      this.#data.push(line.slice(line[5] === " " ? 6 : 5));
    }
  }
}
