// Reports changes in a workspace to its listener, over one server-sent event stream.
import { Retry } from "./retry";
import { EventReader } from "./sse";

export interface ChangeEars {
  /** Something may have changed; also called after every reconnect. */
  changed(): void;
  lost(): void;
}

export class ChangeStream {
  #source: EventReader | undefined;
  readonly #retry = new Retry(() => this.#open());

  constructor(
    private readonly workspace: string,
    private readonly ears: ChangeEars,
  ) {
    this.#open();
  }

  close(): void {
    this.#retry.close();
    this.#source?.close();
    this.#source = undefined;
  }

  #open(): void {
    const address = `/api/work/changes?workspace=${encodeURIComponent(this.workspace)}`;
    const source: EventReader = new EventReader(address, {
      message: () => {
        if (source !== this.#source) return;
        this.#retry.worked();
        this.ears.changed();
      },
      ended: () => {
        if (source !== this.#source) return;
        this.#source = undefined;
        this.ears.lost();
        this.#retry.lost();
      },
    });
    this.#source = source;
  }
}
