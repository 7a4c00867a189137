// An error as a person reads it.
import { Refused } from "../../../api/client";

/** Why something was refused, and what to do about it. */
export interface Refusal {
  message: string;
  hint: string;
  /** The argument that it is about, if any. */
  argument: string;
}

export function refusalOf(error: unknown): Refusal {
  const { hint, argument } = error instanceof Refused ? error : { hint: "", argument: "" };
  return { message: error instanceof Error ? error.message : String(error), hint, argument };
}
