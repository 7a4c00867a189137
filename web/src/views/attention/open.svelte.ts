// Which waiting item is open, and whether a key may answer it now.
import { answered, chosen, CLOSED, GUARD_MS, mayAnswer, opened, type Guard } from "../../state/guard";
import type { Asking } from "../../state/attention";
import { waitingKey, type Waiting } from "../../state/waiting";

export class OpenItem {
  /** What the detail view should show: a field for a reason, arguments or a reply, or the rules that it can become. */
  asking = $state<Asking | undefined>();
  waiving = $state(false);
  key = $state<string | undefined>();
  /** Whether keys answer the open item, for the hints on its buttons. */
  keyed = $state(false);
  #guard: Guard = CLOSED;
  #at = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** The person opened an item. */
  choose(one: Waiting): void {
    if (waitingKey(one) === this.key) return;
    this.#open(waitingKey(one));
    this.#guard = chosen(this.#guard, waitingKey(one));
    this.#wait();
  }

  /** The list changed: the open item stays open wherever it is; if it is gone, its neighbour takes its place. */
  follow(list: readonly Waiting[]): void {
    const at = list.findIndex((one) => waitingKey(one) === this.key);
    if (at >= 0) {
      this.#at = at;
      return;
    }
    const next = list[Math.min(this.#at, list.length - 1)];
    this.#open(next && waitingKey(next));
    this.#guard = opened(this.#guard, this.key, performance.now());
    this.#wait();
  }

  /** Whether a key may answer it now. */
  mayAnswer(one: Waiting): boolean {
    return mayAnswer(this.#guard, waitingKey(one), performance.now());
  }

  /** It was answered: the next answer by key needs its own moment. */
  answered(): void {
    this.#guard = answered(this.#guard, performance.now());
    this.#wait();
  }

  close(): void {
    clearTimeout(this.#timer);
  }

  #open(key: string | undefined): void {
    this.key = key;
    this.asking = undefined;
    this.waiving = false;
  }

  #wait(): void {
    clearTimeout(this.#timer);
    const left = this.#guard.since + GUARD_MS - performance.now();
    this.keyed = left <= 0;
    if (left > 0) this.#timer = setTimeout(() => (this.keyed = true), left);
  }
}
