//! The stable name of a scope.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::text;

/// Longest key, in characters; what is longer is cut (TD-10).
pub const SCOPE_KEY_CHARS_MAX: usize = 64;

/// Key of the session's own list.
const MAIN: &str = "main";

/// Stable name of a scope: trimmed, without whitespace, at most 64 characters, case-sensitive.
#[derive(
    Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
#[schemars(inline)]
pub struct ScopeKey(String);

impl ScopeKey {
    /// The key of a string; `None` when it is blank.
    pub fn of(given: &str) -> Option<Self> {
        let joined = text::join_words(given, '_');
        let key: String = joined.chars().take(SCOPE_KEY_CHARS_MAX).collect();
        (!key.is_empty()).then_some(Self(key))
    }

    /// The session's own list, which every session has.
    pub fn main() -> Self {
        Self(MAIN.to_owned())
    }

    /// Whether it is the session's own list.
    pub fn is_main(&self) -> bool {
        self.0 == MAIN
    }

    /// The key as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ScopeKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}
