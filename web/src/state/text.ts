// Text as the session rules read it: whitespace, trimming, folding (MV-2, MV-3).

/** White_Space of Unicode and the four separators U+001C to U+001F; not U+200B, not U+FEFF. */
const SPACE =
  "\\u0009-\\u000d\\u001c-\\u001f\\u0020\\u0085\\u00a0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000";
const ENDS = new RegExp(`^[${SPACE}]+|[${SPACE}]+$`, "g");
const RUNS = new RegExp(`[${SPACE}]+`, "g");

export function trim(text: string): string {
  return text.replace(ENDS, "");
}

/** Replaces every run of whitespace with this string. */
export function joined(text: string, by: string): string {
  return text.replace(RUNS, by);
}

/** How an item without an id is identified. */
export function folded(title: string): string {
  return joined(trim(title), " ").toLowerCase();
}

export type Fields = Readonly<Record<string, unknown>>;

/** The value as an object with fields, if it is one. */
export function fields(value: unknown): Fields | undefined {
  return value !== null && typeof value === "object" && !Array.isArray(value) ? (value as Fields) : undefined;
}

/** The first of these fields that is a non-blank string, trimmed. */
export function firstWord(from: Fields, names: readonly string[]): string | undefined {
  for (const name of names) {
    const value = from[name];
    if (typeof value === "string" && trim(value)) return trim(value);
  }
  return undefined;
}

/** An id: a non-blank string as it is, or a whole number as its digits (TD-5). */
export function idOf(value: unknown): string | undefined {
  if (typeof value === "string") return trim(value) ? value : undefined;
  if (typeof value === "bigint") return value.toString();
  if (typeof value === "number" && Number.isInteger(value)) return BigInt(value).toString();
  return undefined;
}

/** The first of these fields that is an id. */
export function firstId(from: Fields, names: readonly string[]): string | undefined {
  for (const name of names) {
    const id = idOf(from[name]);
    if (id !== undefined) return id;
  }
  return undefined;
}

const INT64 = 2n ** 63n;

/** A revision or position, exactly (TD-8). */
export function wholeNumber(value: unknown): bigint | undefined {
  const number = rawNumber(value);
  return number !== undefined && number >= -INT64 && number < INT64 ? number : undefined;
}

function rawNumber(value: unknown): bigint | undefined {
  if (typeof value === "bigint") return value;
  if (typeof value === "number") return Number.isFinite(value) ? BigInt(Math.floor(value)) : undefined;
  if (typeof value !== "string") return undefined;
  const digits = trim(value);
  return /^[+-]?\d+$/.test(digits) ? BigInt(digits.replace(/^\+/, "")) : undefined;
}

/** The body of an event: `data`, else `payload`, never both (EN-5). */
export function body(event: Fields): Fields {
  return fields(event["data"]) ?? fields(event["payload"]) ?? {};
}

/** The number of an event, if it is stored. */
export function seqOf(event: Fields): bigint | undefined {
  const seq = event["seq"];
  if (typeof seq === "bigint") return seq;
  return typeof seq === "number" && Number.isInteger(seq) ? BigInt(seq) : undefined;
}
