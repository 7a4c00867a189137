// Which files of a run the person has looked at, by marks that change when the file changes again.

export class Viewed {
  #marks = $state.raw<ReadonlySet<string>>(new Set());
  readonly #place: string;

  constructor(run: string) {
    this.#place = `muster.viewed.${run}`;
    this.#marks = new Set(JSON.parse(localStorage.getItem(this.#place) ?? "[]") as string[]);
  }

  has(mark: string): boolean {
    return this.#marks.has(mark);
  }

  toggle(mark: string): void {
    const next = new Set(this.#marks);
    if (!next.delete(mark)) next.add(mark);
    this.#marks = next;
    localStorage.setItem(this.#place, JSON.stringify([...next]));
  }
}
