// Numbers and times formatted for people.

/** `now`, `42 s`, `7 min`, `3 h`, `5 d`. */
export function ago(at: string | number, now: number): string {
  const seconds = Math.max(0, Math.round((now - new Date(at).getTime()) / 1000));
  if (seconds < 5) return "now";
  if (seconds < 60) return `${seconds} s`;
  return span(seconds * 1000);
}

/** The same in a sentence: `just now`, `7 min ago`. */
export function agoSaid(at: string | number, now: number): string {
  const text = ago(at, now);
  return text === "now" ? "just now" : `${text} ago`;
}

/** A duration in its largest whole unit. */
export function span(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  const seconds = ms / 1000;
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  if (seconds < 60) return `${Math.floor(seconds)} s`;
  const minutes = seconds / 60;
  if (minutes < 60) return `${Math.floor(minutes)} min`;
  const hours = minutes / 60;
  if (hours < 48) return `${Math.floor(hours)} h`;
  return `${Math.floor(hours / 24)} d`;
}

/** A moment to the second, in local time. */
export function exact(at: string | number): string {
  return new Date(at).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "medium" });
}

/** The time of day. */
export function clockTime(at: string | number): string {
  return new Date(at).toLocaleTimeString(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit" });
}

/** A size in units of 1,024. */
export function bytes(count: number): string {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let at = 0;
  let value = count;
  while (value >= 1024 && at + 1 < units.length) {
    value /= 1024;
    at += 1;
  }
  return `${at === 0 ? value : value.toFixed(1)} ${units[at]}`;
}

/** An abbreviated number: `950`, `12.4k`, `3.1M`. */
export function compact(count: number): string {
  if (count < 1000) return String(Math.round(count));
  if (count < 999_500) return `${(count / 1000).toFixed(count < 9950 ? 1 : 0)}k`;
  return `${(count / 1_000_000).toFixed(1)}M`;
}

/** An amount in dollars. */
export function dollars(amount: number): string {
  return `$${amount.toFixed(amount < 1 ? 3 : 2)}`;
}

/** A count with its noun: `1 file`, `2 files`. */
export function counted(count: number, noun: string): string {
  return `${count.toLocaleString()} ${noun}${count === 1 ? "" : "s"}`;
}

/** The first characters of a hash. */
export function short(hash: string, letters = 8): string {
  return hash.slice(0, letters);
}

/** The end of an id. Ids created at the same time begin alike. */
export function shortId(id: string): string {
  return id.slice(-8);
}
