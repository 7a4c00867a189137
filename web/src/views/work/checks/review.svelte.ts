// The protected files of a workspace that changed since a person last looked at them.
import { get, post, type Result } from "../../../api/client";
import { changes } from "../changes.svelte";
import { refusalOf, type Refusal } from "./refusal";

export type ProtectedFiles = Result<"/api/work/protected", "get">;

export class ReviewState {
  /** What waits for a person, if anything does. */
  files = $state.raw<ProtectedFiles | undefined>();
  busy = $state(false);
  refusal = $state.raw<Refusal | undefined>();

  constructor(readonly workspace: string) {}

  /** Reads what changed, if something did. */
  async load(waits: boolean): Promise<void> {
    const { workspace } = this;
    const files = waits ? await get("/api/work/protected", { query: { workspace } }) : undefined;
    this.files = files?.seen === false ? files : undefined;
  }

  /** Records that a person has looked at the files that are shown. */
  async accept(): Promise<boolean> {
    if (!this.files || this.busy) return false;
    this.busy = true;
    this.refusal = undefined;
    let done = true;
    try {
      const { workspace } = this;
      await post("/api/work/reviews", { body: { workspace, digest: this.files.digest } });
      this.files = undefined;
    } catch (error) {
      done = false;
      this.refusal = refusalOf(error);
      await this.load(true).catch(() => undefined);
    }
    this.busy = false;
    changes.now();
    return done;
  }
}
