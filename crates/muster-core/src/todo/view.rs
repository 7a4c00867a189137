//! What a screen shows of a list: which rows, the header above them, a glyph per status.
//!
//! Not here: colours, and how wide a character is on a screen; the caller knows that and passes it
//! in where it is needed.

mod glyph;
mod header;
mod preview;

pub use glyph::{Glyphs, glyph};
pub use header::Header;
pub use preview::{List, Preview, Strategy, preview, preview_rows_max};

/// A title or label as it may be shown: control characters are spaces (UI-5).
///
/// This keeps titles from moving the cursor or changing colours.
pub fn shown(text: &str) -> String {
    text.chars().map(|character| if character.is_control() { ' ' } else { character }).collect()
}

/// The text in at most `columns` columns: all of it, or as much as leaves room for `…`.
///
/// `width` measures a string in columns. What takes no column (an accent, a joiner) stays with the
/// character before it (UI-5).
pub fn cut(text: &str, columns: usize, width: impl Fn(&str) -> usize) -> String {
    const MARK: &str = "…";
    if width(text) <= columns {
        return text.to_owned();
    }
    let Some(room) = columns.checked_sub(width(MARK)) else { return String::new() };
    let mut letter = [0; 4];
    let starts = text.char_indices().filter(|(_, next)| width(next.encode_utf8(&mut letter)) > 0);
    let places: Vec<usize> = starts.map(|(at, _)| at).collect();
    let fitting = places.partition_point(|at| width(&text[..*at]) <= room);
    let end = fitting.checked_sub(1).map_or(0, |last| places[last]);
    format!("{}{MARK}", &text[..end])
}
