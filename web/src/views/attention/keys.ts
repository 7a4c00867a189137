// The keys of the list of what waits.
import type { Command } from "../../ui/commands.svelte";

/** Commands that move in the list and answer the current item. */
export function attentionKeys(move: (step: number) => void, answer: (keys: string) => void): Command[] {
  const moves: readonly [string, string, number][] = [
    ["j", "Next", 1],
    ["k", "Previous", -1],
    ["ArrowDown", "Next", 1],
    ["ArrowUp", "Previous", -1],
  ];
  const answers: readonly [string, string][] = [
    ["y", "Approve"],
    ["n", "Deny"],
    ["e", "Edit the arguments"],
    ["g", "Let it go on: resume, start, send or run again"],
    ["m", "Answer with a message"],
    ["x", "Dismiss or hide"],
    ["Enter", "Open the run or task"],
  ];
  const all = [
    ...moves.map(([keys, title, step]) => ({ keys, title, run: () => move(step) })),
    ...answers.map(([keys, title]) => ({ keys, title, run: () => answer(keys) })),
  ];
  return all.map((one) => ({ id: `waits-${one.keys}`, group: "Attention", keysOnly: true, ...one }));
}
