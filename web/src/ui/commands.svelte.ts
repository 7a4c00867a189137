// The available commands: one list for keys, palette and help.
import { untrack } from "svelte";

export interface Command {
  id: string;
  title: string;
  group: string;
  /** For example `f`, `Shift+F`, `Mod+k`, `Space`, `Delete`. */
  keys?: string;
  /** Left out of the palette, because it only makes sense as a key. */
  keysOnly?: boolean;
  run: () => void;
}

type Offer = readonly Command[] | (() => readonly Command[]);

class Commands {
  #lists = $state.raw<ReadonlyMap<symbol, Offer>>(new Map());
  all = $derived([...this.#lists.values()].flatMap((offer) => (typeof offer === "function" ? offer() : offer)));

  /**
   * Registers commands until the returned function is called. Later commands win over earlier ones with the same keys;
   * a list that changes is passed as a function, so that it keeps its place.
   */
  offer(commands: Offer): () => void {
    const mark = Symbol("commands");
    // An effect that registers commands must not run again because others were registered.
    this.#lists = new Map([...untrack(() => this.#lists), [mark, commands]]);
    return () => {
      const rest = new Map(untrack(() => this.#lists));
      rest.delete(mark);
      this.#lists = rest;
    };
  }

  /** Runs the command of this key; returns whether there was one. */
  press(event: KeyboardEvent): boolean {
    const keys = named(event);
    const found = this.all.findLast((command) => command.keys === keys);
    found?.run();
    return found !== undefined;
  }
}

/** The key of an event in the notation of commands. */
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

/** Whether keystrokes go into an input field. */
export function typing(event: KeyboardEvent): boolean {
  const target = event.target;
  if (!(target instanceof HTMLElement)) return false;
  return target.isContentEditable || ["INPUT", "TEXTAREA", "SELECT"].includes(target.tagName);
}

export const commands = new Commands();
