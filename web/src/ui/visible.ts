// Text of an agent that a person decides about: every character that controls, reorders or is not seen is written out
// as JSON writes it (`\\u202e`), so that what stands there is what is seen.

/** Control and format characters, separators of lines, and letters without a shape; a line break is seen. */
const UNSEEN = /(?!\n)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\u115f\u1160\u2800\u3164\uffa0]/gu;

export function visible(text: string): string {
  return text.replace(UNSEEN, (found) => {
    const units = Array.from({ length: found.length }, (_, at) => found.charCodeAt(at));
    return units.map((unit) => `\\u${unit.toString(16).padStart(4, "0")}`).join("");
  });
}
