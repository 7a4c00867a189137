//! A small Rust lexer: enough to distinguish code, strings and comments and to find items.
//!
//! It knows nested comments, raw and prefixed strings, raw identifiers, characters and lifetimes.
//! It does not parse: rules look at runs of tokens.

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Keyword or name.
    Word,
    /// String literal of any form, quotes included.
    Text,
    /// Character or byte literal.
    Character,
    /// Lifetime or label.
    Lifetime,
    /// Number literal.
    Number,
    /// Comment of any form.
    Comment,
    /// One character of punctuation.
    Mark,
}

/// A token and the line it starts on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Token<'a> {
    /// What it is.
    pub(crate) kind: Kind,
    /// The source text.
    pub(crate) text: &'a str,
    /// Line of its first character, from 1.
    pub(crate) line: usize,
}

impl Token<'_> {
    /// Line of its last character.
    pub(crate) fn last_line(&self) -> usize {
        self.line + self.text.matches('\n').count()
    }
}

/// All tokens of a source file; unterminated literals reach to the end.
pub(crate) fn tokens(source: &str) -> Vec<Token<'_>> {
    let mut found = Vec::new();
    let mut at = 0;
    let mut line = 1;
    while let Some(first) = source[at..].chars().next() {
        if first.is_whitespace() {
            line += usize::from(first == '\n');
            at += first.len_utf8();
            continue;
        }
        let (kind, length) = token(&source[at..], first);
        let text = &source[at..at + length];
        found.push(Token { kind, text, line });
        line += text.matches('\n').count();
        at += length;
    }
    found
}

fn token(rest: &str, first: char) -> (Kind, usize) {
    if rest.starts_with("//") {
        return (Kind::Comment, rest.find('\n').unwrap_or(rest.len()));
    }
    if rest.starts_with("/*") {
        return (Kind::Comment, block_comment(rest));
    }
    if let Some(length) = prefixed_literal(rest) {
        return length;
    }
    match first {
        '"' => (Kind::Text, quoted(rest, 1, '"')),
        '\'' => quote(rest),
        '0'..='9' => (Kind::Number, number(rest)),
        _ if is_word(first) => (Kind::Word, word(rest)),
        _ => (Kind::Mark, first.len_utf8()),
    }
}

fn is_word(character: char) -> bool {
    character == '_' || character.is_alphanumeric()
}

fn word(rest: &str) -> usize {
    rest.find(|character| !is_word(character)).unwrap_or(rest.len())
}

fn number(rest: &str) -> usize {
    let whole = word(rest);
    let fraction = rest[whole..].strip_prefix('.').filter(|after| after.starts_with(is_digit));
    fraction.map_or(whole, |after| whole + 1 + word(after))
}

fn is_digit(character: char) -> bool {
    character.is_ascii_digit()
}

fn block_comment(rest: &str) -> usize {
    let mut depth = 0_usize;
    let mut at = 0;
    while at < rest.len() {
        if rest[at..].starts_with("/*") {
            depth += 1;
            at += 2;
        } else if rest[at..].starts_with("*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += rest[at..].chars().next().map_or(1, char::len_utf8);
        }
    }
    rest.len()
}

/// `b"…"`, `c"…"`, `r"…"`, `br#"…"#`, `b'…'` and raw identifiers.
fn prefixed_literal(rest: &str) -> Option<(Kind, usize)> {
    let prefix = ["br", "cr", "b", "c", "r"].into_iter().find(|prefix| {
        rest.strip_prefix(prefix).is_some_and(|after| after.starts_with(['"', '#', '\'']))
    })?;
    let after = &rest[prefix.len()..];
    if after.starts_with('\'') {
        return (prefix == "b").then(|| (Kind::Character, quoted(rest, 2, '\'')));
    }
    if !prefix.ends_with('r') {
        return after.starts_with('"').then(|| (Kind::Text, quoted(rest, prefix.len() + 1, '"')));
    }
    let fences = after.len() - after.trim_start_matches('#').len();
    let opening = prefix.len() + fences;
    if rest[opening..].starts_with('"') {
        let close = format!("\"{}", "#".repeat(fences));
        let end = rest[opening + 1..].find(&close);
        let length = end.map_or(rest.len(), |end| opening + 1 + end + close.len());
        return Some((Kind::Text, length));
    }
    (prefix == "r" && fences == 1).then(|| (Kind::Word, 2 + word(&rest[2..])))
}

/// Length of a literal with escapes whose content starts at `from`.
fn quoted(rest: &str, from: usize, close: char) -> usize {
    let mut escaped = false;
    for (offset, character) in rest[from..].char_indices() {
        match character {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            _ if character == close => return from + offset + character.len_utf8(),
            _ => {}
        }
    }
    rest.len()
}

/// A character literal or a lifetime.
fn quote(rest: &str) -> (Kind, usize) {
    let mut after = rest[1..].chars();
    let first = after.next();
    let is_character = first == Some('\\') || after.next() == Some('\'');
    if is_character {
        (Kind::Character, quoted(rest, 1, '\''))
    } else {
        (Kind::Lifetime, 1 + word(&rest[1..]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(source: &str) -> Vec<(Kind, &str)> {
        tokens(source).into_iter().map(|token| (token.kind, token.text)).collect()
    }

    #[test]
    fn strings_hide_their_braces() {
        let source = "\"{ \\\" }\" r#\"a \" } \"# b\"x\" br\"\\\" c\"y\"";
        assert!(kinds(source).iter().all(|(kind, _)| *kind == Kind::Text), "{:?}", kinds(source));
        assert_eq!(kinds(source).len(), 5);
    }

    #[test]
    fn comments_nest() {
        let found = kinds("a /* x /* y */ z */ b // c\nd");
        assert_eq!(
            found,
            [
                (Kind::Word, "a"),
                (Kind::Comment, "/* x /* y */ z */"),
                (Kind::Word, "b"),
                (Kind::Comment, "// c"),
                (Kind::Word, "d"),
            ]
        );
    }

    #[test]
    fn lifetimes_are_not_characters() {
        let found = kinds("&'a str '{' '\\'' b'}' 'static");
        let quotes: Vec<Kind> =
            found.iter().filter(|(_, text)| text.contains('\'')).map(|(kind, _)| *kind).collect();
        let expected =
            [Kind::Lifetime, Kind::Character, Kind::Character, Kind::Character, Kind::Lifetime];
        assert_eq!(quotes, expected);
    }

    #[test]
    fn raw_identifiers_and_ranges_are_words_and_numbers() {
        let expected = [
            (Kind::Word, "r#type"),
            (Kind::Number, "1_000.5e3"),
            (Kind::Number, "0"),
            (Kind::Mark, "."),
            (Kind::Mark, "."),
            (Kind::Number, "9"),
        ];
        assert_eq!(kinds("r#type 1_000.5e3 0..9"), expected);
    }

    #[test]
    fn lines_are_counted_through_literals() {
        let found = tokens("\"a\nb\"\nc /*\n*/ d");
        let lines: Vec<(usize, usize)> =
            found.iter().map(|token| (token.line, token.last_line())).collect();
        assert_eq!(lines, [(1, 2), (3, 3), (3, 4), (4, 4)]);
    }
}
