// Fuzzy search: words that begin with the query first, then its letters in order.

/** How well a string matches; larger is better, undefined is no match. */
export function score(text: string, query: string): number | undefined {
  const hay = text.toLowerCase();
  let sum = 0;
  for (const word of query.toLowerCase().split(/\s+/).filter(Boolean)) {
    const at = hay.indexOf(word);
    if (at >= 0) {
      const begins = at === 0 || /[^a-z0-9]/.test(hay[at - 1] ?? "");
      sum += (begins ? 100 : 40) - Math.min(at, 30);
      continue;
    }
    let from = 0;
    for (const letter of word) {
      from = hay.indexOf(letter, from) + 1;
      if (from === 0) return undefined;
    }
    sum += 5;
  }
  return sum;
}

/** The matches, best first; equal ones keep their order. */
export function rank<T>(items: readonly T[], query: string, text: (item: T) => string): T[] {
  if (!query.trim()) return [...items];
  return items
    .map((item) => ({ item, fits: score(text(item), query) }))
    .filter((row): row is { item: T; fits: number } => row.fits !== undefined)
    .sort((a, b) => b.fits - a.fits)
    .map((row) => row.item);
}

/** A string in pieces, with those that match a word of the query marked. */
export function marked(text: string, query: string): { text: string; fits: boolean }[] {
  const words = query.split(/\s+/).filter(Boolean).map(escaped);
  if (words.length === 0) return [{ text, fits: false }];
  // Every second piece is a captured match.
  const pieces = text.split(new RegExp(`(${words.join("|")})`, "gi"));
  return pieces.map((piece, at) => ({ text: piece, fits: at % 2 === 1 })).filter((piece) => piece.text);
}

function escaped(word: string): string {
  return word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
}
