// JSON whose whole numbers stay exact: those that a double cannot hold become BigInt (PF-41).
const MARK = "\u0000int:";
const TOKEN = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;

/** Parses JSON without losing digits of large whole numbers. */
export function parseExact(text: string): unknown {
  const marked = text.replace(TOKEN, (token) => {
    if (token.startsWith('"') || !/^-?\d{16,}$/.test(token)) return token;
    return Number.isSafeInteger(Number(token)) ? token : JSON.stringify(MARK + token);
  });
  return JSON.parse(marked, (_, value: unknown) =>
    typeof value === "string" && value.startsWith(MARK) ? BigInt(value.slice(MARK.length)) : value,
  );
}
