// What a person typed and has not sent yet, by where it was typed. It stays when another view is shown in between.

class Typed {
  text = $state("");
}

const kept = new Map<string, Typed>();

/** The text that was typed at a place; empty at first. */
export function typed(place: string): Typed {
  const known = kept.get(place) ?? new Typed();
  kept.set(place, known);
  return known;
}
