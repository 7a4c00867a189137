// The present contents of the files that a request would write.
import type { Approval } from "../../api/wire";
import { writtenPaths } from "../../state/request";

export interface Present {
  readonly known: ReadonlyMap<string, string>;
  /** Paths whose content could not be read. */
  readonly unknown: ReadonlySet<string>;
}

export function presentFiles(approval: Approval): Present {
  return { known: new Map(), unknown: new Set(writtenPaths(approval.tool.args)) };
}
