//! One glyph per status; no two are alike, with colour and without (UI-5).

use crate::todo::TodoStatus;

/// What the terminal can show.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Glyphs {
    /// One column each.
    Unicode,
    /// Three columns each.
    Ascii,
}

pub const fn glyph(status: TodoStatus, glyphs: Glyphs) -> &'static str {
    match (glyphs, status) {
        (Glyphs::Unicode, TodoStatus::Todo) => "○",
        (Glyphs::Unicode, TodoStatus::InProgress) => "◐",
        (Glyphs::Unicode, TodoStatus::Done) => "●",
        (Glyphs::Unicode, TodoStatus::Blocked) => "▲",
        (Glyphs::Unicode, TodoStatus::Canceled) => "✕",
        (Glyphs::Ascii, TodoStatus::Todo) => "[ ]",
        (Glyphs::Ascii, TodoStatus::InProgress) => "[>]",
        (Glyphs::Ascii, TodoStatus::Done) => "[x]",
        (Glyphs::Ascii, TodoStatus::Blocked) => "[!]",
        (Glyphs::Ascii, TodoStatus::Canceled) => "[-]",
    }
}
