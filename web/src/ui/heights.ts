// Heights of rows: measured where they were rendered, estimated where they were not.

export class Heights {
  #known = new Map<string, number>();

  constructor(private readonly estimate: number) {}

  /** Stores a height; returns whether it changed. */
  set(name: string, height: number): boolean {
    if (this.#known.get(name) === height) return false;
    this.#known.set(name, height);
    return true;
  }

  /** Where each row begins, and after the last one where all of them end. */
  offsets(names: readonly string[]): Float64Array {
    const found = new Float64Array(names.length + 1);
    let sum = 0;
    for (let at = 0; at < names.length; at += 1) {
      found[at] = sum;
      sum += this.#known.get(names[at]!) ?? this.estimate;
    }
    found[names.length] = sum;
    return found;
  }

  /** The row at this offset. */
  find(offsets: Float64Array, place: number): number {
    let [low, high] = [0, Math.max(0, offsets.length - 2)];
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (offsets[middle]! <= place) low = middle;
      else high = middle - 1;
    }
    return low;
  }
}
