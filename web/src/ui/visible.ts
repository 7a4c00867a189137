// Text of an agent that a person decides about: every control, reordering or invisible character is escaped
// as in JSON (`\\u202e`), so that what is seen is what is there.

/** Control and format characters, line separators, and letters without a shape; a line break stays. */
const UNSEEN = /(?!\n)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\u115f\u1160\u2800\u3164\uffa0]/gu;

export function visible(text: string): string {
  return text.replace(UNSEEN, (found) => {
    const units = Array.from({ length: found.length }, (_, at) => found.charCodeAt(at));
    return units.map((unit) => `\\u${unit.toString(16).padStart(4, "0")}`).join("");
  });
}
