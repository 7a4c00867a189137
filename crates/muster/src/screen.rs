//! How output for people looks: colours, width, progress bars, wrapped lines.
//!
//! What is deliberately not here: the content.

mod harmless;
mod words;

use std::{
    env,
    io::{self, IsTerminal as _},
};

use clap::ValueEnum;

pub(crate) use self::{
    harmless::{harmless_json, spelled_out},
    words::{age, ago, counted, with_plurals},
};

/// Columns when the width is unknown.
const COLUMNS_DEFAULT: usize = 80;
/// Columns below which lines would be all indentation.
const COLUMNS_MIN: usize = 40;
/// Columns beyond which lines become hard to follow.
const COLUMNS_MAX: usize = 120;
/// Cells of a progress bar.
const BAR_CELLS: usize = 10;

/// When to use colours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    /// On a terminal, unless NO_COLOR is set
    #[default]
    Auto,
    /// Also in a pipe or a file
    Always,
    /// Nowhere
    Never,
}

/// The role of a piece of text, which decides its colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tone {
    /// A name or heading.
    Strong,
    /// Less important.
    Faint,
    /// Done, confirmed.
    Good,
    /// In progress.
    Active,
    /// Worth a look.
    Warning,
    /// A problem.
    Bad,
}

impl Tone {
    const ALL: [Self; 6] =
        [Self::Strong, Self::Faint, Self::Good, Self::Active, Self::Warning, Self::Bad];

    fn code(self) -> &'static str {
        match self {
            Self::Strong => "1",
            Self::Faint => "2",
            Self::Good => "32",
            Self::Active => "36",
            Self::Warning => "33",
            Self::Bad => "31",
        }
    }
}

/// The screen that output is written for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Screen {
    colored: bool,
    columns: usize,
}

impl Screen {
    /// A file: no colours, and lines of any length.
    pub(crate) const PLAIN: Self = Self { colored: false, columns: usize::MAX };

    /// The screen of stdout.
    pub(crate) fn of_stdout(color: Color) -> Self {
        let set = |name| env::var_os(name).is_some_and(|value| !value.is_empty());
        let dumb = env::var_os("TERM").is_some_and(|term| term == "dumb");
        let colored = match color {
            Color::Always => true,
            Color::Never => false,
            Color::Auto => io::stdout().is_terminal() && !set("NO_COLOR") && !dumb,
        };
        Self { colored, columns: columns().clamp(COLUMNS_MIN, COLUMNS_MAX) }
    }

    /// Width in characters.
    pub(crate) fn columns(self) -> usize {
        self.columns
    }

    /// The text in the colour of a tone.
    pub(crate) fn paint(self, tone: Tone, text: &str) -> String {
        if self.colored && !text.is_empty() {
            format!("\x1b[{}m{text}\x1b[0m", tone.code())
        } else {
            text.to_owned()
        }
    }

    /// A progress bar of ten cells; full only when everything is done.
    pub(crate) fn bar(self, percent: u64) -> String {
        let eighths = usize::try_from(percent.min(100)).unwrap_or(100) * BAR_CELLS * 8 / 100;
        let mut filled = "█".repeat(eighths / 8);
        let part = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
        filled += part[eighths % 8];
        let empty = "░".repeat(BAR_CELLS - filled.chars().count());
        let tone = if percent >= 100 { Tone::Good } else { Tone::Active };
        self.paint(tone, &filled) + &self.paint(Tone::Faint, &empty)
    }

    /// All of the text, blanks too, in lines that fit the screen; lines
    /// after the first start with `indent`.
    pub(crate) fn folded(self, text: &str, indent: &str) -> String {
        let room = self.columns.saturating_sub(indent.chars().count()).max(20);
        let pieces = |line: &str| {
            let letters: Vec<char> = line.chars().collect();
            let pieces = letters.chunks(room).map(String::from_iter).collect::<Vec<_>>();
            if pieces.is_empty() { vec![String::new()] } else { pieces }
        };
        let lines: Vec<String> = text.lines().flat_map(pieces).collect();
        lines.join(&format!("\n{indent}"))
    }

    /// The text in lines that start with `indent` and fit the screen.
    pub(crate) fn wrapped(self, text: &str, indent: &str) -> Vec<String> {
        let room = self.columns.saturating_sub(indent.chars().count()).max(20);
        let lines = text.lines().flat_map(|line| wrap(line, room));
        lines.map(|line| format!("{indent}{line}").trim_end().to_owned()).collect()
    }
}

/// The screen's width: COLUMNS, else the terminal, else the default.
fn columns() -> usize {
    let set = env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    set.or_else(|| terminal_size::terminal_size().map(|(width, _)| usize::from(width.0)))
        .unwrap_or(COLUMNS_DEFAULT)
}

/// The text on one line, shortened with `…` when it is longer than `room` characters.
pub(crate) fn cut(text: &str, room: usize) -> String {
    let text = text.replace(['\n', '\t'], " ");
    if text.chars().count() <= room {
        return text;
    }
    let mut short: String = text.chars().take(room.saturating_sub(1)).collect();
    short.truncate(short.trim_end().len());
    short.push('…');
    short
}

/// The text padded with blanks to `room` characters; longer text is shortened.
pub(crate) fn fill(text: &str, room: usize) -> String {
    format!("{:room$}", cut(text, room))
}

/// One line as it is when it fits, else broken between words; longer words are
/// broken too.
fn wrap(line: &str, room: usize) -> Vec<String> {
    if line.chars().count() <= room {
        return vec![line.to_owned()];
    }
    let mut lines = vec![String::new()];
    let mut used = 0;
    for word in line.split_whitespace() {
        let mut word: Vec<char> = word.chars().collect();
        if used > 0 && used + 1 + word.len() > room {
            lines.push(String::new());
            used = 0;
        }
        while word.len() > room {
            let rest = word.split_off(room);
            lines.last_mut().into_iter().for_each(|line| line.extend(&word));
            lines.push(String::new());
            word = rest;
        }
        if let Some(line) = lines.last_mut() {
            if used > 0 {
                line.push(' ');
                used += 1;
            }
            used += word.len();
            line.extend(word);
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: Screen = Screen { colored: false, columns: 40 };

    #[test]
    fn a_bar_is_full_only_at_the_end() {
        assert_eq!(PLAIN.bar(0), "░░░░░░░░░░");
        assert_eq!(PLAIN.bar(33), "███▎░░░░░░");
        assert_eq!(PLAIN.bar(99), "█████████▉");
        assert_eq!(PLAIN.bar(100), "██████████");
        for percent in 0..=100 {
            assert_eq!(PLAIN.bar(percent).chars().count(), BAR_CELLS, "{percent}");
        }
    }

    #[test]
    fn long_texts_are_broken_or_cut_within_the_room() {
        assert_eq!(wrap("one two three", 7), ["one two", "three"]);
        assert_eq!(wrap("abcdefghij kl", 4), ["abcd", "efgh", "ij", "kl"]);
        assert_eq!(wrap("", 4), [""]);
        assert_eq!(cut("äöüß and more", 5), "äöüß…");
        assert_eq!(fill("ab", 4), "ab  ");
        assert_eq!(PLAIN.folded("a  b\n\nc", "> "), "a  b\n> \n> c");
        let folded = PLAIN.folded(&"x".repeat(50), "    ");
        assert_eq!(folded, format!("{}\n    {}", "x".repeat(36), "x".repeat(14)));
        for line in PLAIN.wrapped(&"word ".repeat(40), "    ") {
            assert!(line.chars().count() <= 40, "{line:?}");
        }
    }

    #[test]
    fn colours_appear_only_when_wanted() {
        assert_eq!(PLAIN.paint(Tone::Good, "x"), "x");
        let colored = Screen { colored: true, columns: 80 };
        assert_eq!(colored.paint(Tone::Good, "x"), "\x1b[32mx\x1b[0m");
        assert_eq!(colored.paint(Tone::Good, ""), "");
    }
}
