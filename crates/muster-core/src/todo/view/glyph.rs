//! One glyph per status; no two are alike, with colour and without (UI-5).

use crate::todo::Status;

/// What the terminal can show.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Glyphs {
    /// One column each.
    Unicode,
    /// Three columns each.
    Ascii,
}

/// The glyph of a status.
pub const fn glyph(status: Status, glyphs: Glyphs) -> &'static str {
    match (glyphs, status) {
        (Glyphs::Unicode, Status::Todo) => "○",
        (Glyphs::Unicode, Status::InProgress) => "◐",
        (Glyphs::Unicode, Status::Done) => "●",
        (Glyphs::Unicode, Status::Blocked) => "▲",
        (Glyphs::Unicode, Status::Canceled) => "✕",
        (Glyphs::Ascii, Status::Todo) => "[ ]",
        (Glyphs::Ascii, Status::InProgress) => "[>]",
        (Glyphs::Ascii, Status::Done) => "[x]",
        (Glyphs::Ascii, Status::Blocked) => "[!]",
        (Glyphs::Ascii, Status::Canceled) => "[-]",
    }
}
