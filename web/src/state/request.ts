// What an agent asks permission for, as a person judges it: a command, changed files, or named fields.
import type { Approval } from "../api/wire";
import { parseDiff, type DiffFile } from "./diff";
import { changedLines, type ChangedLine } from "./lines";

export interface AskedFile {
  path: string;
  /** `write` replaces the whole file, or creates it. */
  change: "write" | "edit" | "delete";
  lines: readonly ChangedLine[];
  added: number;
  removed: number;
}

export type Asked =
  | { kind: "command"; line: string; directory: string }
  | { kind: "files"; files: readonly AskedFile[] }
  | { kind: "fields"; fields: readonly (readonly [string, string])[] };

type Args = Readonly<Record<string, unknown>>;
type Call = Pick<Approval, "kind"> & { tool: { name: string; args: Args } };

/** What the call would do; `known` are the present contents of files by path, as far as they were read. */
export function asked(call: Call, known: ReadonlyMap<string, string> = new Map()): Asked {
  const { args } = call.tool;
  const line = call.kind === "tool" ? commandLine(args) : undefined;
  if (line !== undefined) return { kind: "command", line, directory: first(args, ["cwd", "workdir", "directory"]) };
  const files = call.kind === "tool" ? askedFiles(args, known) : [];
  if (files.length > 0) return { kind: "files", files };
  return { kind: "fields", fields: Object.entries(args).map(([name, value]) => [name, plain(value)] as const) };
}

/** The paths whose present content says what a call would change. */
export function writtenPaths(args: Args): string[] {
  const path = first(args, PATHS);
  return path && typeof args["content"] === "string" ? [path] : [];
}

const PATHS = ["file_path", "path", "notebook_path", "filename"];

function first(args: Args, names: readonly string[]): string {
  const value = names.map((name) => args[name]).find((one) => typeof one === "string" && one !== "");
  return typeof value === "string" ? value : "";
}

/** The shell line of a call; words of a list are quoted as a shell needs it. */
function commandLine(args: Args): string | undefined {
  const value = args["command"] ?? args["cmd"];
  if (typeof value === "string") return value;
  if (Array.isArray(value) && value.every((one) => typeof one === "string")) return value.map(quoted).join(" ");
  return undefined;
}

function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}

function askedFiles(args: Args, known: ReadonlyMap<string, string>): AskedFile[] {
  const patch = ["patch", "diff", "input"].map((name) => args[name]).find(isPatch);
  if (patch !== undefined) return patchFiles(patch);
  if (args["changes"] && typeof args["changes"] === "object") return listedChanges(args["changes"]);
  const path = first(args, PATHS);
  if (!path) return [];
  if (typeof args["content"] === "string") return [compared(path, "write", known.get(path) ?? "", args["content"])];
  const edits = Array.isArray(args["edits"]) ? (args["edits"] as Args[]) : [args];
  const parts = edits.flatMap((edit) => {
    const [before, after] = [edit["old_string"], edit["new_string"]];
    return typeof before === "string" && typeof after === "string" ? [compared(path, "edit", before, after)] : [];
  });
  return parts.length === 0 ? [] : [joined(path, parts)];
}

function compared(path: string, change: AskedFile["change"], before: string, after: string): AskedFile {
  return counted(path, change, changedLines(split(before), split(after)));
}

const split = (text: string): string[] => (text === "" ? [] : text.replace(/\n$/, "").split("\n"));

function counted(path: string, change: AskedFile["change"], lines: readonly ChangedLine[]): AskedFile {
  const count = (kind: ChangedLine["kind"]): number => lines.filter((line) => line.kind === kind).length;
  return { path, change, lines, added: count("added"), removed: count("removed") };
}

function joined(path: string, parts: readonly AskedFile[]): AskedFile {
  const gap: ChangedLine = { kind: "skipped", text: "…" };
  const lines = parts.flatMap((part, at) => (at === 0 ? part.lines : [gap, ...part.lines]));
  return counted(path, "edit", lines);
}

/** The changes of a patch tool, as a list of `{path, kind, diff}` or as an object by path. */
function listedChanges(changes: object): AskedFile[] {
  const rows: [string, Args][] = Array.isArray(changes)
    ? changes.map((one: Args) => [first(one, PATHS), one])
    : Object.entries(changes as Record<string, Args>);
  return rows
    .filter(([path, one]) => path && typeof one === "object" && one !== null)
    .map(([path, one]) => {
      const word = JSON.stringify(one["kind"] ?? one["type"] ?? Object.keys(one)[0] ?? "");
      const text = first(one, ["diff", "unified_diff", "content"]);
      if (/delete/.test(word)) return counted(path, "delete", patchLines(text));
      if (/add/.test(word) && !isPatch(text)) return compared(path, "write", "", text);
      return counted(path, "edit", patchLines(text));
    });
}

function isPatch(value: unknown): value is string {
  return typeof value === "string" && /^(\*\*\* Begin Patch|diff --git |--- .*\n\+\+\+ )/.test(value);
}

const FILE_MARK = /^\*\*\* (Add|Update|Delete) File: (.+)$/;
const CHANGES = { Add: "write", Update: "edit", Delete: "delete" } as const;

/** The files of a patch, in git's format or in that of `apply_patch`. A line of a file is never left out. */
function patchFiles(patch: string): AskedFile[] {
  if (/^diff --git /m.test(patch)) return parseDiff(patch).map(gitFile);
  if (!patch.startsWith("*** Begin Patch")) return [plainPatch(patch)];
  const files: { path: string; change: AskedFile["change"]; lines: string[] }[] = [];
  for (const line of patch.split("\n")) {
    const mark = FILE_MARK.exec(line);
    if (mark) files.push({ path: mark[2]!, change: CHANGES[mark[1] as keyof typeof CHANGES], lines: [] });
    else if (!line.startsWith("*** ")) files.at(-1)?.lines.push(line);
  }
  return files.map((file) => counted(file.path, file.change, patchLines(file.lines.join("\n"))));
}

function gitFile(file: DiffFile): AskedFile {
  const lines = file.hunks.flatMap((hunk) => [{ kind: "skipped" as const, text: hunk.header }, ...hunk.lines]);
  return counted(file.path, file.change === "removed" ? "delete" : file.change === "added" ? "write" : "edit", lines);
}

/** A patch of one file that begins with its two names. */
function plainPatch(patch: string): AskedFile {
  const path = /^\+\+\+ (?:b\/)?(.+)$/m.exec(patch)?.[1] ?? "a file";
  return counted(path, "edit", patchLines(patch.replace(/^--- .*\n\+\+\+ .*\n/, "")));
}

function patchLines(text: string): ChangedLine[] {
  return split(text).map((line) => {
    if (line.startsWith("@@")) return { kind: "skipped", text: line };
    if (line.startsWith("+")) return { kind: "added", text: line.slice(1) };
    if (line.startsWith("-")) return { kind: "removed", text: line.slice(1) };
    return { kind: "same", text: line.replace(/^ /, "") };
  });
}

/** A value as text; objects as indented JSON. */
function plain(value: unknown): string {
  if (typeof value === "string") return value;
  return value !== null && typeof value === "object" ? JSON.stringify(value, null, 2) : String(value);
}

/** A path below the folder, without the folder. */
export function inside(path: string, folder: string | undefined): string {
  return folder && path.startsWith(`${folder}/`) ? path.slice(folder.length + 1) : path;
}

const VERBS: Record<AskedFile["change"], string> = { write: "Write", edit: "Edit", delete: "Delete" };
const HEADLINE_MAX = 240;

/** One line that says what would happen; `known` are the present contents of files. */
export function headline(call: Call, folder?: string, known?: ReadonlyMap<string, string>): string {
  const { args, name } = call.tool;
  if (call.kind === "spawn") return `Add the node ${plain(args["label"] ?? name)} (${plain(args["role"] ?? "no role")})`;
  if (call.kind === "mode") return `Switch to ${plain(args["mode"] ?? args["globalMode"] ?? "another mode")}`;
  const what = asked(call, known);
  if (what.kind === "command") return cut(`Run ${oneLine(what.line)}`);
  if (what.kind === "files") {
    const [one, ...others] = what.files;
    const more = others.length === 0 ? "" : ` and ${others.length} more`;
    return `${VERBS[one!.change]} ${inside(one!.path, folder)} +${one!.added} −${one!.removed}${more}`;
  }
  const values = what.fields.map(([field, value]) => `${field} ${oneLine(value)}`);
  return cut(values.length === 0 ? toolName(name) : `${toolName(name)}: ${values.join(", ")}`);
}

const oneLine = (text: string): string => text.trim().replaceAll(/\s*\n\s*/g, " ⏎ ");
const cut = (text: string): string => (text.length > HEADLINE_MAX ? `${text.slice(0, HEADLINE_MAX)}…` : text);

/** `mcp__github__create_issue` is `github: create issue`. */
export function toolName(name: string): string {
  const parts = /^mcp__(.+?)__(.+)$/.exec(name) ?? /^([\w-]+)\.(\w+)$/.exec(name);
  return (parts ? `${parts[1]} · ${parts[2]}` : name).replaceAll("_", " ");
}
