//! The user's file: a JSON object with a section `ctrees`, of which only booleans count (CF-5).

use std::collections::BTreeMap;

use serde_json::Value;

/// What the section `ctrees` says; nothing for a file that has no such section.
#[derive(Debug, Default)]
pub(super) struct UserFile {
    ctrees: Value,
}

impl UserFile {
    /// Reads the file's text. Whatever is not a JSON object says nothing.
    pub(super) fn read(text: &str) -> Self {
        let mut whole: BTreeMap<String, Value> = serde_json::from_str(text).unwrap_or_default();
        Self { ctrees: whole.remove("ctrees").unwrap_or_default() }
    }

    /// What the file says about a switch.
    pub(super) fn switch(&self, key: &str) -> Option<bool> {
        self.ctrees.get(key)?.as_bool()
    }
}
