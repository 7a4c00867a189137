//! One file of a source, and what may be wrong with it.

use std::fmt;

use serde::de::DeserializeOwned;

/// A file of a source, as text with plain line ends.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PlanFile {
    /// Its path as the caller names it; `-` for standard input.
    pub path: String,
    pub text: String,
}

/// Why a source cannot be read. Nothing of it is written then.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PlanFileFault {
    pub file: String,
    /// The line, from 1, if it is in one.
    pub line: Option<usize>,
    pub cause: String,
}

impl fmt::Display for PlanFileFault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(formatter, "{}:{line}: {}", self.file, self.cause),
            None => write!(formatter, "{}: {}", self.file, self.cause),
        }
    }
}

impl std::error::Error for PlanFileFault {}

impl PlanFileFault {
    pub fn new(file: &str, line: Option<usize>, cause: impl Into<String>) -> Self {
        Self { file: file.to_owned(), line, cause: cause.into() }
    }
}

impl PlanFile {
    /// A file as text: without a byte order mark, and with plain line ends.
    pub fn new(path: impl Into<String>, text: &str) -> Self {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let text = if text.contains('\r') { text.replace("\r\n", "\n") } else { text.to_owned() };
        Self { path: path.into(), text }
    }

    /// The same from bytes.
    pub fn of_bytes(path: &str, bytes: &[u8]) -> Result<Self, PlanFileFault> {
        match std::str::from_utf8(bytes) {
            Ok(text) => Ok(Self::new(path, text)),
            Err(error) => {
                let before = &bytes[..error.valid_up_to()];
                let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
                Err(PlanFileFault::new(path, Some(line), "the text is not valid UTF-8"))
            }
        }
    }

    /// The last part of the path, without its extension.
    pub(super) fn stem(&self) -> &str {
        let name = self.path.rsplit(['/', '\\']).next().unwrap_or_default();
        name.rsplit_once('.').map_or(name, |(stem, _)| stem)
    }

    /// The folder that holds it, by name.
    pub(super) fn folder(&self) -> Option<&str> {
        let (folder, _) = self.path.rsplit_once(['/', '\\'])?;
        folder.rsplit(['/', '\\']).next().filter(|name| !name.is_empty())
    }

    pub(super) fn fault(&self, line: Option<usize>, cause: impl Into<String>) -> PlanFileFault {
        PlanFileFault::new(&self.path, line, cause)
    }

    /// Reads the whole text as JSON.
    pub(super) fn json<T: DeserializeOwned>(&self) -> Result<T, PlanFileFault> {
        serde_json::from_str(&self.text).map_err(|error| self.json_fault(&error, 0))
    }

    /// The fault of JSON that begins `above` lines into the file.
    pub(super) fn json_fault(&self, error: &serde_json::Error, above: usize) -> PlanFileFault {
        let text = error.to_string();
        let cause = text.rsplit_once(" at line ").map_or(text.as_str(), |(cause, _)| cause);
        let line = error.line().max(1) + above;
        self.fault(Some(line), format!("{cause} (column {})", error.column()))
    }
}
