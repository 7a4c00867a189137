// What a program wrote to a terminal, as plain text.

/** Colours and cursor movements: CSI and OSC sequences, and two-character escapes. */
const SEQUENCES = /\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)?|[@-Z\\-_])/g;

/** Removes terminal sequences; of a line that was written over, the last version stays. */
export function plain(text: string): string {
  const shown = text.replace(SEQUENCES, "").replaceAll("\r\n", "\n").replaceAll("\t", "    ");
  if (!shown.includes("\r")) return shown;
  return shown
    .split("\n")
    .map((line) => line.replace(/\r+$/, "").split("\r").at(-1) ?? "")
    .join("\n");
}
