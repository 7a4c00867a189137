//! The sources of values.

use std::{fmt, path::PathBuf};

use serde::Serialize;

/// A value and where it came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Sourced<T> {
    pub(crate) value: T,
    /// Where it came from.
    pub(crate) source: ValueSource,
}

impl<T> Sourced<T> {
    /// A default value.
    pub(crate) fn default(value: T) -> Self {
        Self { value, source: ValueSource::Default }
    }
}

/// The source of a value, strongest first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", content = "place", rename_all = "snake_case")]
pub(crate) enum ValueSource {
    /// A flag of the command line.
    Flag(&'static str),
    /// An environment variable.
    Environment(&'static str),
    /// A line of the program's own file.
    File {
        path: PathBuf,
        /// The line, from 1.
        line: usize,
    },
    /// The file that this program shares with others (CF-5).
    UserFile(PathBuf),
    /// The address that a server of this machine published in the storage folder.
    LocalServer(PathBuf),
    Default,
}

impl fmt::Display for ValueSource {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag(name) | Self::Environment(name) => formatter.write_str(name),
            Self::File { path, line } => write!(formatter, "{} line {line}", path.display()),
            Self::UserFile(path) | Self::LocalServer(path) => {
                write!(formatter, "{}", path.display())
            }
            Self::Default => formatter.write_str("default"),
        }
    }
}
