// An error as a person reads it.
import { Refused } from "../../../api/client";
import { helpAfter } from "../../../state/work_words";

/** Why something was refused, and what to do about it. */
export interface Refusal {
  message: string;
  hint: string;
}

export function refusalOf(error: unknown): Refusal {
  const hint = error instanceof Refused ? helpAfter(error.code, error.hint) : "";
  return { message: error instanceof Error ? error.message : String(error), hint };
}
