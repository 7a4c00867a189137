//! One file of the repository, read once: its lines, its tokens, its items, and which part is test
//! code.

use std::ops::RangeInclusive;

use super::lexer::{Kind, Token, tokens};

/// A file with its path relative to the root, separated by `/`.
#[derive(Debug)]
pub(crate) struct Source {
    /// Path inside the repository.
    pub(crate) path: String,
    /// Whole content.
    pub(crate) text: String,
}

/// A named definition in Rust code.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Item<'a> {
    /// The keyword that introduces it: `fn`, `struct`, `mod` and so on.
    pub(crate) keyword: &'a str,
    pub(crate) name: &'a str,
    /// Lines from the keyword to the closing brace or semicolon.
    pub(crate) lines: RangeInclusive<usize>,
    /// Whether a trait of someone else's choosing gives it its name.
    pub(crate) named_by_trait: bool,
    /// Whether it is `pub`, if only in a part of its crate.
    pub(crate) public: bool,
}

impl Item<'_> {
    /// How many lines it takes.
    pub(crate) fn length(&self) -> usize {
        self.lines.end() + 1 - self.lines.start()
    }

    /// Whether it is a type that other files can name.
    pub(crate) fn is_public_type(&self) -> bool {
        self.public && matches!(self.keyword, "struct" | "enum" | "trait" | "type")
    }
}

const DEFINITIONS: [&str; 8] = ["fn", "struct", "enum", "trait", "type", "mod", "const", "static"];

impl Source {
    /// A file with the given path and content.
    pub(crate) fn new(path: impl Into<String>, text: impl Into<String>) -> Self {
        Self { path: path.into(), text: text.into() }
    }

    /// Whether it is Rust code.
    pub(crate) fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }

    /// Whether the path marks everything in it as test code.
    pub(crate) fn is_test(&self) -> bool {
        let folder_of_tests =
            |part: &str| matches!(part.trim_end_matches(".rs"), "tests" | "benches" | "examples");
        self.path.split('/').any(folder_of_tests)
    }

    /// Whether it is part of the program that people run.
    pub(crate) fn is_product(&self) -> bool {
        let package = self.package();
        package.starts_with("muster") && package != "muster-testkit" && !self.is_test()
    }

    /// The crate it belongs to: `muster-core`, `xtask`, or nothing outside of crates.
    pub(crate) fn package(&self) -> &str {
        let mut parts = self.path.split('/');
        match (parts.next(), parts.next()) {
            (Some("crates"), Some(package)) => package,
            (Some("xtask"), Some(_)) => "xtask",
            _ => "",
        }
    }

    /// File name without folder and extension.
    pub(crate) fn stem(&self) -> &str {
        let name = self.path.rsplit('/').next().unwrap_or_default();
        name.split_once('.').map_or(name, |(stem, _)| stem)
    }

    /// Tokens without comments.
    pub(crate) fn code(&self) -> Vec<Token<'_>> {
        tokens(&self.text).into_iter().filter(|token| token.kind != Kind::Comment).collect()
    }

    /// Line ranges of items under `#[cfg(test)]`.
    pub(crate) fn test_lines(&self) -> Vec<RangeInclusive<usize>> {
        let code = self.code();
        let attribute = ["#", "[", "cfg", "(", "test", ")", "]"];
        let starts = (0..code.len()).filter(|at| matches_at(&code, *at, &attribute));
        starts.map(|at| code[at].line..=end_of_item(&code, at + attribute.len())).collect()
    }

    /// Every definition in the file, in order.
    pub(crate) fn items(&self) -> Vec<Item<'_>> {
        let code = self.code();
        let trait_blocks = trait_blocks(&code);
        let mut items = Vec::new();
        for (at, pair) in code.windows(2).enumerate() {
            let [keyword, name] = pair else { continue };
            let is_definition = keyword.kind == Kind::Word
                && DEFINITIONS.contains(&keyword.text)
                && name.kind == Kind::Word
                && !matches!(name.text, "fn" | "unsafe" | "async" | "extern" | "mut" | "_");
            if is_definition {
                items.push(Item {
                    keyword: keyword.text,
                    name: name.text,
                    lines: keyword.line..=end_of_item(&code, at + 2),
                    named_by_trait: trait_blocks.iter().any(|range| range.contains(&at)),
                    public: is_public(&code[..at]),
                });
            }
        }
        items
    }
}

/// Whether the tokens in front of a keyword end in `pub` or `pub(…)`.
fn is_public(before: &[Token<'_>]) -> bool {
    let before = match before.last() {
        Some(token) if token.text == ")" => {
            let open = before.iter().rposition(|token| token.text == "(");
            &before[..open.unwrap_or(0)]
        }
        _ => before,
    };
    before.last().is_some_and(|token| token.text == "pub")
}

/// Whether the tokens from `at` on read like `expected`.
pub(crate) fn matches_at(code: &[Token<'_>], at: usize, expected: &[&str]) -> bool {
    let run = code[at..].iter().map(|token| token.text);
    code.len() - at >= expected.len() && run.zip(expected).all(|(text, wanted)| text == *wanted)
}

/// Last line of the item that continues at `from`: its closing brace, or its semicolon.
fn end_of_item(code: &[Token<'_>], from: usize) -> usize {
    let end = end_of_body(code, from).unwrap_or(code.len() - 1);
    code[end].last_line()
}

/// Index of the token that ends the item: a semicolon, or the brace that closes its first block.
fn end_of_body(code: &[Token<'_>], from: usize) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, token) in code.iter().enumerate().skip(from) {
        match token.text {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" => depth = depth.saturating_sub(1),
            "}" if depth <= 1 => return Some(at),
            "}" => depth -= 1,
            ";" if depth == 0 => return Some(at),
            _ => {}
        }
    }
    None
}

/// Token ranges of `impl Trait for Type { … }` blocks.
fn trait_blocks(code: &[Token<'_>]) -> Vec<RangeInclusive<usize>> {
    let mut found = Vec::new();
    for (at, _) in code.iter().enumerate().filter(|(_, token)| token.text == "impl") {
        let Some(open) = code[at..].iter().position(|token| token.text == "{") else { continue };
        let head = &code[at..at + open];
        let names_a_trait =
            head.windows(2).any(|pair| pair[0].text == "for" && pair[1].text != "<");
        if names_a_trait && let Some(end) = end_of_body(code, at + open) {
            found.push(at..=end);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAMPLE: &str = "//! Sample.
pub struct Thing<T> where T: Copy { a: [u8; 3], b: T }
type Alias = fn(u8) -> u8;
impl<T> Thing<T> {
    pub fn own(&self) -> &'static str {
        \"}}}\"
    }
}
impl<T: for<'a> Fn(&'a u8)> Iterator for Thing<T> {
    type Item = u8;
    fn next(&mut self) -> Option<u8> { None }
}
const fn last() -> u8 { 1 }
#[cfg(test)]
mod tests {
    #[test]
    fn works() {}
}
";

    #[test]
    fn items_are_found_with_their_lines() {
        let source = Source::new("crates/muster-core/src/sample.rs", SAMPLE);
        let found: Vec<(&str, &str, usize, bool)> = source
            .items()
            .into_iter()
            .map(|item| (item.keyword, item.name, item.length(), item.named_by_trait))
            .collect();
        let expected = [
            ("struct", "Thing", 1, false),
            ("type", "Alias", 1, false),
            ("fn", "own", 3, false),
            ("type", "Item", 1, true),
            ("fn", "next", 1, true),
            ("fn", "last", 1, false),
            ("mod", "tests", 4, false),
            ("fn", "works", 1, false),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn test_modules_are_told_apart() {
        let source = Source::new("crates/muster-core/src/sample.rs", SAMPLE);
        assert_eq!(source.test_lines(), [14..=18]);
        assert!(!source.is_test());
        for path in ["crates/muster/tests/main.rs", "xtask/src/a/tests.rs", "tests/contracts/a.rs"]
        {
            assert!(Source::new(path, "").is_test(), "{path}");
        }
    }

    #[test]
    fn the_path_says_package_and_stem() {
        let source = Source::new("crates/muster-core/src/tasks/state.rs", "");
        assert_eq!((source.package(), source.stem()), ("muster-core", "state"));
        assert_eq!(Source::new("README.md", "").package(), "");
    }
}
