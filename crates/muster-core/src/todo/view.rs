//! What a screen shows of a list: which rows, the header above them, a glyph per status.
//!
//! Not here: colours, and how wide a character is on a screen; who draws knows that and hands it
//! in where it is needed.

mod glyph;
mod header;
mod preview;

pub use glyph::{Glyphs, glyph};
pub use header::Header;
pub use preview::{List, Preview, Strategy, preview, preview_rows_max};

/// A title or label as it may be shown: control characters are spaces (UI-5).
///
/// So that no title can move the cursor or change colours.
pub fn shown(text: &str) -> String {
    text.chars().map(|character| if character.is_control() { ' ' } else { character }).collect()
}
