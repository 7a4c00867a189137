// Syntax colours without a parser: keywords, strings, numbers and comments of the usual language families.
export type TokenKind = "plain" | "keyword" | "string" | "number" | "comment" | "name";

export interface Token {
  kind: TokenKind;
  text: string;
}

interface Family {
  /** What begins a comment that goes to the end of the line. */
  line: string[];
  keywords: ReadonlySet<string>;
}

const words = (text: string): ReadonlySet<string> => new Set(text.split(" "));

const C_LIKE: Family = {
  line: ["//"],
  keywords: words(
    "as async await break case catch class const continue default do else enum export extends false finally fn for from function if impl import in instanceof interface let loop match mod move mut new null of private pub public ref return self static struct super switch this throw trait true try type typeof undefined unsafe use var void where while yield package func go defer chan map range int string bool",
  ),
};
const HASH: Family = {
  line: ["#"],
  keywords: words(
    "and as assert async await break case class continue def del do done elif else end esac except export false fi finally for from function global if import in is lambda local None nonlocal not or pass raise return self set then True False true try unset until while with yield echo exit",
  ),
};
const SQL: Family = {
  line: ["--"],
  keywords: words(
    "select from where and or not insert into values update set delete create table index primary key null join left on order by group limit begin commit SELECT FROM WHERE AND OR NOT INSERT INTO VALUES UPDATE SET DELETE CREATE TABLE INDEX PRIMARY KEY NULL JOIN LEFT ON ORDER BY GROUP LIMIT BEGIN COMMIT",
  ),
};
const DATA: Family = { line: [], keywords: words("true false null") };
const MARKUP: Family = { line: [], keywords: new Set() };

const FAMILIES: Record<string, Family> = {};
for (const [family, extensions] of [
  [C_LIKE, "rs js mjs cjs ts tsx jsx svelte vue go java c h cpp hpp cc cs kt swift scala dart php css scss zig"],
  [HASH, "py sh bash zsh rb toml yaml yml ini conf dockerfile makefile mk pl r ex exs nix tf"],
  [SQL, "sql lua hs"],
  [DATA, "json jsonl"],
  [MARKUP, "html xml svg"],
] as const) {
  for (const extension of extensions.split(" ")) FAMILIES[extension] = family;
}

/** The language of a file by its name; undefined is plain text. */
export function languageOf(path: string): string | undefined {
  const name = path.slice(path.lastIndexOf("/") + 1).toLowerCase();
  const extension = name.includes(".") ? name.slice(name.lastIndexOf(".") + 1) : name;
  return FAMILIES[extension] ? extension : undefined;
}

const LONGEST_LINE = 2_000;
const PIECE =
  /"(?:[^"\\]|\\.)*"?|'(?:[^'\\]|\\.)*'?|`(?:[^`\\]|\\.)*`?|\b\d[\w.]*\b|[A-Za-z_$][\w$]*|\s+|[^\sA-Za-z_$"'`\d]+/g;

/** The tokens of one line. */
export function tokens(line: string, language: string | undefined): Token[] {
  const family = language ? FAMILIES[language] : undefined;
  if (!family || line.length > LONGEST_LINE) return [{ kind: "plain", text: line }];
  const found: Token[] = [];
  const push = (kind: TokenKind, text: string): void => {
    const last = found.at(-1);
    if (last?.kind === kind) last.text += text;
    else found.push({ kind, text });
  };
  PIECE.lastIndex = 0;
  for (let match = PIECE.exec(line); match; match = PIECE.exec(line)) {
    const text = match[0];
    const comment = family.line.map((mark) => text.indexOf(mark)).find((at) => at >= 0);
    if (comment !== undefined && !/^["'`]/.test(text)) {
      push("plain", text.slice(0, comment));
      push("comment", line.slice(match.index + comment));
      return found.filter((token) => token.text);
    }
    push(kindOf(text, line, PIECE.lastIndex, family), text);
  }
  return found.filter((token) => token.text);
}

function kindOf(text: string, line: string, end: number, family: Family): TokenKind {
  if (/^["`]/.test(text) || (text.startsWith("'") && text.length > 2 && text.endsWith("'"))) {
    return family === DATA && /^\s*:/.test(line.slice(end)) ? "name" : "string";
  }
  if (/^\d/.test(text)) return "number";
  if (family.keywords.has(text)) return "keyword";
  if (/^[A-Za-z_$]/.test(text) && line[end] === "(") return "name";
  return "plain";
}
