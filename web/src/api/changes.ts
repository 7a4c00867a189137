// Reports changes to a listener, over one server-sent event stream: of a workspace, or of what waits for a person.
import { Retry } from "./retry";
import { EventReader } from "./sse";

export interface ChangeEars {
  /** Something may have changed; also called after every reconnect. */
  changed(): void;
  lost(): void;
}

/** Where changes of a workspace are reported. */
export const workChanges = (workspace: string): string =>
  `/api/work/changes?workspace=${encodeURIComponent(workspace)}`;

/** Where changes of what waits in the work are reported. */
export const ATTENTION_CHANGES = "/api/attention/changes";

export class ChangeStream {
  #source: EventReader | undefined;
  readonly #retry = new Retry(() => this.#open());

  constructor(
    private readonly address: string,
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
    const source: EventReader = new EventReader(this.address, {
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
