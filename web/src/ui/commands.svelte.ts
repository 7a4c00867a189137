// What can be done from here: one list for keys, palette and help.
import { untrack } from "svelte";

export interface Command {
  id: string;
  title: string;
  group: string;
  /** Such as `f`, `Shift+F`, `Mod+k`, `Space`, `Delete`. */
  keys?: string;
  /** Not offered in the palette, because it means nothing there. */
  keysOnly?: boolean;
  run: () => void;
}

type Offer = readonly Command[] | (() => readonly Command[]);

class Commands {
  #lists = $state.raw<ReadonlyMap<symbol, Offer>>(new Map());
  all = $derived([...this.#lists.values()].flatMap((offer) => (typeof offer === "function" ? offer() : offer)));

  /**
   * Offers commands until the answer is called. Later offers win over earlier ones with the same keys; a list that
   * changes is offered as a function, so that it keeps its place.
   */
  offer(commands: Offer): () => void {
    const mark = Symbol("commands");
    // Whoever offers in an effect does not want to offer again because something else was offered.
    this.#lists = new Map([...untrack(() => this.#lists), [mark, commands]]);
    return () => {
      const rest = new Map(untrack(() => this.#lists));
      rest.delete(mark);
      this.#lists = rest;
    };
  }

  /** Does what the key stands for; whether anything does. */
  press(event: KeyboardEvent): boolean {
    const keys = named(event);
    const found = this.all.findLast((command) => command.keys === keys);
    found?.run();
    return found !== undefined;
  }
}

/** The key of an event as commands name it. */
export function named(event: KeyboardEvent): string {
  const key = event.key === " " ? "Space" : event.key;
  const letter = key.length === 1;
  const parts = [];
  if (event.ctrlKey || event.metaKey) parts.push("Mod");
  if (event.altKey) parts.push("Alt");
  if (event.shiftKey && (!letter || /[a-z]/i.test(key))) parts.push("Shift");
  parts.push(letter && event.shiftKey ? key.toUpperCase() : letter ? key.toLowerCase() : key);
  return parts.join("+");
}

/** Whether keys go into a field just now. */
export function typing(event: KeyboardEvent): boolean {
  const target = event.target;
  if (!(target instanceof HTMLElement)) return false;
  return target.isContentEditable || ["INPUT", "TEXTAREA", "SELECT"].includes(target.tagName);
}

export const commands = new Commands();
