// Says whenever something happened in a workspace, as long as it is listened to.
import { Retry } from "./retry";

export interface ChangeEars {
  /** Something may have happened; also said when the connection is there again. */
  changed(): void;
  lost(): void;
}

export class ChangeStream {
  #source: EventSource | undefined;
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
    const source = new EventSource(`/api/work/changes?workspace=${encodeURIComponent(this.workspace)}`);
    this.#source = source;
    source.onmessage = () => {
      if (source !== this.#source) return;
      this.#retry.worked();
      this.ears.changed();
    };
    source.onerror = () => {
      source.close();
      if (source !== this.#source) return;
      this.#source = undefined;
      this.ears.lost();
      this.#retry.lost();
    };
  }
}
