// Short messages at the edge of the page: what was done, and errors in the server's words.
export interface Notice {
  id: number;
  tone: "plain" | "failed";
  text: string;
}

const SHOWN_MS = 6_000;
let next = 1;

class Notices {
  list = $state.raw<readonly Notice[]>([]);

  say(text: string, tone: Notice["tone"] = "plain"): void {
    const id = next++;
    this.list = [...this.list.slice(-3), { id, tone, text }];
    setTimeout(() => this.drop(id), SHOWN_MS);
  }

  /** The number of the newest notice so far. */
  get latest(): number {
    return next - 1;
  }

  drop(id: number): void {
    this.list = this.list.filter((notice) => notice.id !== id);
  }
}

export const notices = new Notices();

/** Runs an action and shows an error if it fails; returns whether it succeeded. */
export async function attempt(work: () => Promise<unknown>, done?: string): Promise<boolean> {
  try {
    await work();
    if (done) notices.say(done);
    return true;
  } catch (error) {
    notices.say(error instanceof Error ? error.message : String(error), "failed");
    return false;
  }
}
