// Which files of a run the person has looked at; a file that changes again is not viewed any more.
import type { RunFile } from "../../../state/run_changes";

const seen = (file: RunFile): string => `${file.path} ${file.touches.at(-1)?.artifact.id ?? ""}`;

export class Viewed {
  #keys = $state.raw<ReadonlySet<string>>(new Set());
  readonly #place: string;

  constructor(run: string) {
    this.#place = `muster.viewed.${run}`;
    this.#keys = new Set(JSON.parse(localStorage.getItem(this.#place) ?? "[]") as string[]);
  }

  has(file: RunFile): boolean {
    return this.#keys.has(seen(file));
  }

  toggle(file: RunFile): void {
    const next = new Set(this.#keys);
    if (!next.delete(seen(file))) next.add(seen(file));
    this.#keys = next;
    localStorage.setItem(this.#place, JSON.stringify([...next]));
  }
}
