//! What a rule allows.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    asked::{AskedCall, PlacedCall},
    glob, programs, shell,
};
use crate::text;

/// Characters of a line, and of all words of a rule.
const LINE_CHARS_MAX: usize = 4_000;
/// Characters of the name of a tool.
const TOOL_CHARS_MAX: usize = 200;

/// What a rule allows.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "camelCase")]
pub enum AllowPattern {
    /// Commands that begin with these words and hold nothing but words.
    Command { words: Vec<String> },
    /// One command, character by character, with whatever operators are in it.
    Line { line: String },
    /// Writing and deleting files whose path relative to the directory of the node fits: `*` and
    /// `?` stay within a name, `**` is any number of folders; none matches a leading dot.
    Files { glob: String },
    /// A tool, with any arguments.
    Tool { name: String },
}

/// Why a pattern cannot be used: the field, and what would fit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BadPattern {
    pub field: &'static str,
    pub expected: &'static str,
}

impl AllowPattern {
    /// Whether it allows a call. The caller has made sure that no path leads through a link.
    pub fn permits(&self, call: &PlacedCall) -> bool {
        match (self, &call.call) {
            (Self::Command { words }, AskedCall::Command { words: Ok(asked), .. }) => {
                programs::fewest_words(asked).is_some_and(|fewest| words.len() >= fewest)
                    && asked.starts_with(words)
            }
            (Self::Line { line }, AskedCall::Command { line: asked, .. }) => line == asked,
            (Self::Files { glob }, AskedCall::Files { .. }) => {
                !call.places.is_empty() && call.places.iter().all(|place| glob::covers(glob, place))
            }
            (Self::Tool { name }, AskedCall::Tool { name: asked }) => name == asked,
            (
                Self::Command { .. } | Self::Line { .. } | Self::Files { .. } | Self::Tool { .. },
                AskedCall::Command { .. }
                | AskedCall::Files { .. }
                | AskedCall::Tool { .. }
                | AskedCall::Unclear { .. },
            ) => false,
        }
    }

    /// Checks what a person wrote.
    pub fn check(&self) -> Result<(), BadPattern> {
        let bad = |field, expected| Err(BadPattern { field, expected });
        match self {
            Self::Command { words } => {
                let chars: usize = words.iter().map(|word| text::chars(word)).sum();
                if words.is_empty() || chars > LINE_CHARS_MAX {
                    return bad("words", "the first words of the command");
                }
                match programs::fewest_words(words) {
                    Some(fewest) if fewest <= words.len() => Ok(()),
                    Some(_) | None => bad(
                        "words",
                        "enough words to say what the command does; use a rule of kind line for \
                         programs that run or remove what their arguments name",
                    ),
                }
            }
            Self::Line { line } if line.is_empty() || text::chars(line) > LINE_CHARS_MAX => {
                bad("line", "a command of at most 4000 characters")
            }
            Self::Files { glob } => match glob::fault(glob) {
                Some(expected) => bad("glob", expected),
                None => Ok(()),
            },
            Self::Tool { name }
                if !AskedCall::is_plain_tool(name) || text::chars(name) > TOOL_CHARS_MAX =>
            {
                bad("name", "a tool that neither runs commands nor writes files")
            }
            Self::Line { .. } | Self::Tool { .. } => Ok(()),
        }
    }

    /// What it allows, in words.
    pub fn words(&self) -> String {
        match self {
            Self::Command { words } => {
                let words: Vec<String> = words.iter().map(|word| shell::quote(word)).collect();
                format!("commands that begin with `{}`", words.join(" "))
            }
            Self::Line { line } => format!("exactly the command `{line}`"),
            Self::Files { glob } => format!("changes to files that match `{glob}`"),
            Self::Tool { name } => format!("calls of the tool `{name}` with any arguments"),
        }
    }
}
