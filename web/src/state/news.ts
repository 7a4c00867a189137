// What of a list is new, so that each item is told once.
import { waitingKey, waitingWord, type Waiting } from "./waiting";

/** More items than this at once are told together. */
const SINGLE_MAX = 3;

export interface Told {
  /** The same tag replaces an older notification of the same item. */
  tag: string;
  title: string;
  body: string;
}

/** The items that were not in the list before; of the first list none is news. */
export function fresh(known: ReadonlySet<string> | undefined, list: readonly Waiting[]): Waiting[] {
  return known ? list.filter((one) => !known.has(waitingKey(one))) : [];
}

/** What a person is told about new items. */
export function told(news: readonly Waiting[]): Told[] {
  if (news.length > SINGLE_MAX) {
    const body = news.map((one) => one.item.title).join("\n");
    return [{ tag: "muster", title: `${news.length} things wait for you`, body }];
  }
  return news.map((one) => ({ tag: waitingKey(one), title: waitingWord(one), body: one.item.title }));
}
