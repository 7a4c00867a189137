// Compares two lists of lines: equal lines at both ends are set aside,
// the rest is compared by its longest common subsequence, up to a size limit.

export interface ChangedLine {
  readonly kind: "same" | "added" | "removed" | "skipped";
  readonly text: string;
}

const COMPARED_MAX = 1_500;
const CONTEXT = 3;

export function changedLines(before: readonly string[], after: readonly string[]): ChangedLine[] {
  let start = 0;
  while (start < before.length && start < after.length && before[start] === after[start]) start += 1;
  let end = 0;
  while (
    end < before.length - start &&
    end < after.length - start &&
    before[before.length - 1 - end] === after[after.length - 1 - end]
  )
    end += 1;
  const middle = compared(before.slice(start, before.length - end), after.slice(start, after.length - end));
  const same = (text: string): ChangedLine => ({ kind: "same", text });
  return folded([...before.slice(0, start).map(same), ...middle, ...before.slice(before.length - end).map(same)]);
}

function compared(before: readonly string[], after: readonly string[]): ChangedLine[] {
  const gone = (text: string): ChangedLine => ({ kind: "removed", text });
  const come = (text: string): ChangedLine => ({ kind: "added", text });
  if (before.length > COMPARED_MAX || after.length > COMPARED_MAX) return [...before.map(gone), ...after.map(come)];
  const width = after.length + 1;
  const longest = new Uint16Array((before.length + 1) * width);
  for (let i = before.length - 1; i >= 0; i -= 1) {
    for (let j = after.length - 1; j >= 0; j -= 1) {
      longest[i * width + j] =
        before[i] === after[j]
          ? longest[(i + 1) * width + j + 1]! + 1
          : Math.max(longest[(i + 1) * width + j]!, longest[i * width + j + 1]!);
    }
  }
  const lines: ChangedLine[] = [];
  let [i, j] = [0, 0];
  while (i < before.length || j < after.length) {
    if (i < before.length && j < after.length && before[i] === after[j]) {
      lines.push({ kind: "same", text: before[i]! });
      i += 1;
      j += 1;
    } else if (
      j >= after.length ||
      (i < before.length && longest[(i + 1) * width + j]! >= longest[i * width + j + 1]!)
    ) {
      lines.push(gone(before[i++]!));
    } else {
      lines.push(come(after[j++]!));
    }
  }
  return lines;
}

/** Collapses long unchanged stretches into one line. */
function folded(lines: readonly ChangedLine[]): ChangedLine[] {
  const near = lines.map((_, at) =>
    lines.slice(Math.max(0, at - CONTEXT), at + CONTEXT + 1).some((line) => line.kind !== "same"),
  );
  const found: ChangedLine[] = [];
  let hidden = 0;
  const flush = (): void => {
    if (hidden > 0) found.push({ kind: "skipped", text: `… ${hidden} unchanged lines` });
    hidden = 0;
  };
  lines.forEach((line, at) => {
    if (near[at]) {
      flush();
      found.push(line);
    } else {
      hidden += 1;
    }
  });
  flush();
  return found;
}
