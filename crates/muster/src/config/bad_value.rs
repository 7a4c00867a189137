//! An invalid value of a setting: which one, from where, and what is allowed.

use std::fmt;

use muster_api::echo;

use super::{SettingRow, ValueSource};

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct BadValue {
    source: ValueSource,
    name: &'static str,
    allowed: &'static str,
    /// The value, unless it may be a secret.
    value: Option<String>,
}

impl BadValue {
    /// A value as it was written.
    pub(super) fn new(row: &SettingRow, source: ValueSource, value: &str) -> Self {
        // A URL with a password in it is refused, and must not be repeated.
        let open = !row.secret && !value.contains('@');
        let value = open.then(|| echo(value));
        Self { source, name: row.name, allowed: row.allowed, value }
    }
}

impl fmt::Display for BadValue {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { source, name, allowed, value } = self;
        write!(formatter, "{source}: ")?;
        match value {
            Some(value) => write!(formatter, "{value:?} is not a valid value of {name}: ")?,
            None => write!(formatter, "the value of {name} is not valid: ")?,
        }
        write!(formatter, "use {allowed}")
    }
}

impl std::error::Error for BadValue {}
