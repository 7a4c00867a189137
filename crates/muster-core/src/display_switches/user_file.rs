//! The user's file: a JSON object with a section `ctrees`, of which only booleans count (CF-5).

use std::collections::BTreeMap;

use serde_json::Value;

/// The section `ctrees`; empty for a file without it.
#[derive(Debug, Default)]
pub(super) struct UserFile {
    ctrees: Value,
}

impl UserFile {
    /// Reads the file. Anything but a JSON object counts as empty.
    pub(super) fn read(text: &str) -> Self {
        let mut whole: BTreeMap<String, Value> = serde_json::from_str(text).unwrap_or_default();
        Self { ctrees: whole.remove("ctrees").unwrap_or_default() }
    }

    /// The file's value of a switch.
    pub(super) fn switch(&self, key: &str) -> Option<bool> {
        self.ctrees.get(key)?.as_bool()
    }
}
