//! Where a value came from.

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
    /// A value that nobody chose.
    pub(crate) fn default(value: T) -> Self {
        Self { value, source: ValueSource::Default }
    }
}

/// Where a value came from, the strongest first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", content = "place", rename_all = "snake_case")]
pub(crate) enum ValueSource {
    /// A flag of the command line.
    Flag(&'static str),
    /// An environment variable.
    Environment(&'static str),
    /// A line of the program's own file.
    File {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
    },
    /// The file that this program shares with others (CF-5).
    UserFile(PathBuf),
    /// What a server of this machine has written down in the storage folder.
    LocalServer(PathBuf),
    /// Nobody chose it.
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
