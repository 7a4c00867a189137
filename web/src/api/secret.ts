// The secret of this browser's session. It is stored where only pages of this origin, port included, can read it, and
// is sent as a header: unlike a cookie it reaches no other server on this host.

const NAME = "muster.session";

/** For browsers without storage: the session lasts as long as the page. */
let held: string | undefined;

function storage(): Storage | undefined {
  try {
    return globalThis.localStorage;
  } catch {
    return undefined;
  }
}

/** The secret of this browser's session, if it is signed in. */
export function secret(): string | undefined {
  return storage()?.getItem(NAME) ?? held;
}

export function keep(secret: string): void {
  held = secret;
  storage()?.setItem(NAME, secret);
}

export function forget(): void {
  held = undefined;
  storage()?.removeItem(NAME);
}

/** The header that every request carries. */
export function authorization(): Record<string, string> {
  const known = secret();
  return known ? { authorization: `Bearer ${known}` } : {};
}
