// A patch as files, hunks and lines, and the rows that display them.

export interface DiffLine {
  readonly kind: "same" | "added" | "removed";
  readonly text: string;
  readonly old: number | null;
  readonly new: number | null;
}

export interface Hunk {
  readonly header: string;
  readonly lines: readonly DiffLine[];
}

export interface DiffFile {
  readonly path: string;
  readonly from: string | null;
  readonly change: "changed" | "added" | "removed" | "renamed";
  readonly binary: boolean;
  readonly hunks: readonly Hunk[];
  readonly added: number;
  readonly removed: number;
}

/** The files of a patch; empty for a patch without files. */
export function parseDiff(text: string): DiffFile[] {
  const parts = text.split(/^(?=diff --git )/m).filter((part) => part.startsWith("diff --git "));
  return parts.map(parseFile);
}

function parseFile(part: string): DiffFile {
  const lines = part.split("\n");
  const first = lines.findIndex((line) => line.startsWith("@@"));
  const head = first < 0 ? lines : lines.slice(0, first);
  const named = (mark: string): string | undefined => head.find((line) => line.startsWith(mark))?.slice(mark.length);
  const cleaned = (path: string | undefined): string | undefined =>
    path === undefined || path === "/dev/null" ? undefined : unquoted(path).replace(/^[ab]\//, "");
  const both = /^diff --git "?a\/(.*?)"? "?b\/(.*?)"?$/.exec(head[0] ?? "");
  const from = named("rename from ") ?? cleaned(named("--- ")) ?? both?.[1] ?? "";
  const to = named("rename to ") ?? cleaned(named("+++ ")) ?? both?.[2] ?? from;
  const renamed = named("rename to ") !== undefined;
  const change = head.some((line) => line.startsWith("new file"))
    ? "added"
    : head.some((line) => line.startsWith("deleted file"))
      ? "removed"
      : renamed
        ? "renamed"
        : "changed";
  const hunks = first < 0 ? [] : parseHunks(lines.slice(first));
  const count = (kind: DiffLine["kind"]): number =>
    hunks.reduce((sum, hunk) => sum + hunk.lines.filter((line) => line.kind === kind).length, 0);
  return {
    path: change === "removed" ? from : to,
    from: renamed ? from : null,
    change,
    binary: head.some((line) => /^(Binary files|GIT binary patch)/.test(line)),
    hunks,
    added: count("added"),
    removed: count("removed"),
  };
}

function unquoted(path: string): string {
  const plain = path.replace(/\t.*$/, "");
  if (!plain.startsWith('"')) return plain;
  try {
    return JSON.parse(
      plain.replace(/\\(\d{3})/g, (_, octal: string) => `\\u00${parseInt(octal, 8).toString(16).padStart(2, "0")}`),
    ) as string;
  } catch {
    return plain;
  }
}

function parseHunks(lines: readonly string[]): Hunk[] {
  const hunks: { header: string; lines: DiffLine[] }[] = [];
  let [old, fresh] = [0, 0];
  for (const line of lines) {
    const head = /^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@ ?(.*)$/.exec(line);
    if (head) {
      [old, fresh] = [Number(head[1]), Number(head[2])];
      hunks.push({ header: line, lines: [] });
      continue;
    }
    const into = hunks.at(-1)?.lines;
    if (!into || line.startsWith("\\")) continue;
    if (line.startsWith("+")) into.push({ kind: "added", text: line.slice(1), old: null, new: fresh++ });
    else if (line.startsWith("-")) into.push({ kind: "removed", text: line.slice(1), old: old++, new: null });
    else if (line.startsWith(" ")) into.push({ kind: "same", text: line.slice(1), old: old++, new: fresh++ });
  }
  return hunks;
}

export type DiffRow =
  | { readonly kind: "file"; readonly key: string; readonly file: DiffFile; readonly open: boolean }
  | { readonly kind: "hunk"; readonly key: string; readonly header: string }
  | {
      readonly kind: "line";
      readonly key: string;
      readonly path: string;
      readonly left: DiffLine | null;
      readonly right: DiffLine | null;
    };

/** Files with more lines than this start folded. */
export const LARGE_LINES = 400;

export const isLarge = (file: DiffFile): boolean => file.added + file.removed > LARGE_LINES;

/** Rows of one line each (`unified`), or of the old line beside the new one (`split`). */
export function diffRows(files: readonly DiffFile[], folded: ReadonlySet<string>, how: "unified" | "split"): DiffRow[] {
  const rows: DiffRow[] = [];
  files.forEach((file, at) => {
    const open = !folded.has(file.path);
    rows.push({ kind: "file", key: `${at}`, file, open });
    if (!open) return;
    file.hunks.forEach((hunk, hunkAt) => {
      rows.push({ kind: "hunk", key: `${at}.${hunkAt}`, header: hunk.header });
      const pairs =
        how === "split"
          ? beside(hunk.lines)
          : hunk.lines.map((line) => (line.kind === "removed" ? ([line, null] as const) : ([null, line] as const)));
      pairs.forEach(([left, right], lineAt) =>
        rows.push({ kind: "line", key: `${at}.${hunkAt}.${lineAt}`, path: file.path, left, right }),
      );
    });
  });
  return rows;
}

/** Removed lines beside the added ones that follow them. */
function beside(lines: readonly DiffLine[]): (readonly [DiffLine | null, DiffLine | null])[] {
  const pairs: [DiffLine | null, DiffLine | null][] = [];
  let [removed, added]: [DiffLine[], DiffLine[]] = [[], []];
  const flush = (): void => {
    for (let at = 0; at < Math.max(removed.length, added.length); at += 1)
      pairs.push([removed[at] ?? null, added[at] ?? null]);
    [removed, added] = [[], []];
  };
  for (const line of lines) {
    if (line.kind === "removed") {
      if (added.length > 0) flush();
      removed.push(line);
    } else if (line.kind === "added") {
      added.push(line);
    } else {
      flush();
      pairs.push([line, line]);
    }
  }
  flush();
  return pairs;
}
