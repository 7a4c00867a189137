// Keys answer only what a person has had in front of them for a moment.

/** How long after an answer, or after another item took the place, no key answers. */
export const GUARD_MS = 600;

export interface Guard {
  /** The item that is open, and since when. */
  readonly open: string | undefined;
  readonly since: number;
}

export const CLOSED: Guard = { open: undefined, since: 0 };

/** Another item took the place of the open one: it has to be seen first. */
export function opened(guard: Guard, item: string | undefined, now: number): Guard {
  return guard.open === item ? guard : { open: item, since: now };
}

/** The person opened an item: only the time since the last answer counts. */
export const chosen = (guard: Guard, item: string): Guard => ({ ...guard, open: item });

/** An answer was given: the next one needs its own moment. */
export const answered = (guard: Guard, now: number): Guard => ({ ...guard, since: now });

/** Whether a key may answer this item now. */
export function mayAnswer(guard: Guard, item: string, now: number): boolean {
  return guard.open === item && now - guard.since >= GUARD_MS;
}
