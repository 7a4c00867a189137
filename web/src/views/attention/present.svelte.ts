// The present content of the files that requests would overwrite, to compare with; each is read once per request.
import { SvelteMap } from "svelte/reactivity";
import { get } from "../../api/client";
import type { Approval } from "../../api/wire";
import { writtenPaths } from "../../state/request";

/** What is known of the file of one request: its path, and its content unless that could not be read. */
interface Present {
  path: string;
  content: string | undefined;
}

class PresentFiles {
  readonly #known = new SvelteMap<string, Present>();
  readonly #asked = new Set<string>();

  /** Contents by path, as far as they are known. */
  of({ approvalId }: Approval): ReadonlyMap<string, string> {
    const found = this.#known.get(approvalId);
    return new Map(found?.content === undefined ? [] : [[found.path, found.content]]);
  }

  /** Whether the content of a path could not be read. */
  isUnknown({ approvalId }: Approval, path: string): boolean {
    const found = this.#known.get(approvalId);
    return found !== undefined && found.path === path && found.content === undefined;
  }

  /** Reads it, if the request writes a whole file. */
  async load({ approvalId, tool }: Approval): Promise<void> {
    const [path] = writtenPaths(tool.args);
    if (!path || this.#asked.has(approvalId)) return;
    this.#asked.add(approvalId);
    let content: string | undefined;
    try {
      const answer = await get("/api/approvals/{approval}/file", { path: { approval: approvalId } });
      content = answer.content ?? undefined;
    } catch {
      // Only a person may read it, and it may be answered by now.
    }
    this.#known.set(approvalId, { path, content });
  }
}

export const present = new PresentFiles();
