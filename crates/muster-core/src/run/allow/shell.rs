//! Words of a command line, for lines that hold nothing but words. A shell does more with a line
//! than to split it: whatever could make it do something else makes the line unclear.

/// Why a line is not just words.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum UnclearLine {
    /// An operator, an expansion or a comment.
    Special(char),
    /// A line break or another control character.
    Control,
    /// A quote without its end.
    OpenQuote,
    /// A variable is set before the command.
    Assignment,
    Empty,
}

impl UnclearLine {
    /// The reason in words.
    pub fn words(self) -> String {
        match self {
            Self::Special(special) => format!("the shell gives {special:?} a meaning of its own"),
            Self::Control => "it has more than one line, or control characters".to_owned(),
            Self::OpenQuote => "a quote is not closed".to_owned(),
            Self::Assignment => "it sets a variable first".to_owned(),
            Self::Empty => "it is empty".to_owned(),
        }
    }
}

/// Characters that mean only themselves outside of quotes, besides letters and digits.
const PLAIN: &str = "_-./:,@%+=";

/// Splits a line into words as a shell does. The only syntax is quotes: other special characters
/// are errors, so that no list of dangerous ones can be incomplete.
pub(super) fn words(line: &str) -> Result<Vec<String>, UnclearLine> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut rest = line.chars();
    while let Some(next) = rest.next() {
        match next {
            ' ' | '\t' => words.extend(word.take()),
            '\'' | '"' => quoted(next, &mut rest, word.get_or_insert_default())?,
            // A word that begins with it is something else in zsh.
            '=' if word.is_none() => return Err(UnclearLine::Special(next)),
            plain if plain.is_alphanumeric() || PLAIN.contains(plain) => {
                word.get_or_insert_default().push(plain);
            }
            control if control.is_control() => return Err(UnclearLine::Control),
            special => return Err(UnclearLine::Special(special)),
        }
    }
    words.extend(word);
    match words.first() {
        None => Err(UnclearLine::Empty),
        Some(first) if first.is_empty() => Err(UnclearLine::Empty),
        Some(first) if first.contains('=') => Err(UnclearLine::Assignment),
        Some(_) => Ok(words),
    }
}

/// Reads up to the closing quote.
fn quoted(
    quote: char,
    rest: &mut std::str::Chars<'_>,
    word: &mut String,
) -> Result<(), UnclearLine> {
    for next in rest {
        match next {
            end if end == quote => return Ok(()),
            control if control.is_control() => return Err(UnclearLine::Control),
            '$' | '`' | '\\' | '!' if quote == '"' => return Err(UnclearLine::Special(next)),
            plain => word.push(plain),
        }
    }
    Err(UnclearLine::OpenQuote)
}

/// A word as a shell reads it back.
pub(super) fn quote(word: &str) -> String {
    let is_plain = |character: char| character.is_ascii_alphanumeric() || PLAIN.contains(character);
    if !word.is_empty() && !word.starts_with('=') && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}
