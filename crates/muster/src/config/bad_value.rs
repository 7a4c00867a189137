//! An invalid value of a setting: which one, from where, and what is allowed.

use std::{fmt, io};

use muster_api::echo;

use super::{SettingRow, ValueSource};

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct BadValue {
    source: ValueSource,
    name: &'static str,
    problem: Problem,
    allowed: &'static str,
}

#[derive(Debug, PartialEq, Eq)]
enum Problem {
    /// The value, unless it may be a secret.
    Invalid(Option<String>),
    /// Why the file with the value cannot be read.
    Unreadable(String),
}

impl BadValue {
    /// A value as it was written.
    pub(super) fn new(row: &SettingRow, source: ValueSource, value: &str) -> Self {
        // A URL with a password in it is refused, and must not be repeated.
        let open = !row.secret && !value.contains('@');
        let problem = Problem::Invalid(open.then(|| echo(value)));
        Self { source, name: row.name, problem, allowed: row.allowed }
    }

    /// A file with nothing but the value that cannot be read.
    pub(super) fn unreadable(row: &SettingRow, source: ValueSource, error: &io::Error) -> Self {
        let problem = Problem::Unreadable(error.to_string());
        Self { source, name: row.name, problem, allowed: row.allowed }
    }
}

impl fmt::Display for BadValue {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { source, name, problem, allowed } = self;
        write!(formatter, "{source}: ")?;
        match problem {
            Problem::Invalid(Some(value)) => {
                write!(formatter, "{value:?} is not a valid value of {name}: use {allowed}")
            }
            Problem::Invalid(None) => {
                write!(formatter, "the value of {name} is not valid: use {allowed}")
            }
            Problem::Unreadable(error) => write!(
                formatter,
                "the value of {name} cannot be read ({error}): let this user read the file, or use \
                 {allowed} with the flag or the environment"
            ),
        }
    }
}

impl std::error::Error for BadValue {}
