// The present content of the file that a request would overwrite, to compare with.
import { get } from "../../api/client";
import type { Approval } from "../../api/wire";
import { writtenPaths } from "../../state/request";

export class PresentFile {
  known = $state.raw<ReadonlyMap<string, string>>(new Map());
  /** Paths whose content could not be read. */
  unknown = $state.raw<ReadonlySet<string>>(new Set());

  /** Reads it, if the request writes a whole file. */
  async load({ approvalId, tool }: Approval): Promise<void> {
    const [path] = writtenPaths(tool.args);
    if (!path) return;
    try {
      const { content } = await get("/api/approvals/{approval}/file", { path: { approval: approvalId } });
      if (content != null) {
        this.known = new Map([[path, content]]);
        return;
      }
    } catch {
      // Only a person may read it, and it may be answered by now.
    }
    this.unknown = new Set([path]);
  }
}
