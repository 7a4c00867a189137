//! Which workspaces a caller may use: a pattern over their names.

use std::{borrow::Cow, fmt, str::FromStr};

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

/// Longest pattern, in characters.
pub const WORKSPACE_GLOB_CHARS_MAX: usize = 128;
const EVERYTHING: &str = "*";

/// A pattern in which `*` is any number of characters, slashes included. The whole name has to
/// match, in the same case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkspaceGlob(Cow<'static, str>);

/// A string that is not a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BadGlob;

impl fmt::Display for BadGlob {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "a pattern of workspaces has 1 to {WORKSPACE_GLOB_CHARS_MAX} of the characters \
             A-Z a-z 0-9 . _ / - and *, for example acme/*"
        )
    }
}

impl std::error::Error for BadGlob {}

impl WorkspaceGlob {
    pub const EVERYTHING: Self = Self(Cow::Borrowed(EVERYTHING));

    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether it matches every name.
    #[must_use]
    pub fn is_everything(&self) -> bool {
        self.0.bytes().all(|byte| byte == b'*')
    }

    /// Whether it matches a name. Its time grows with the product of both lengths at most.
    #[must_use]
    pub fn admits(&self, name: &str) -> bool {
        let (pattern, name) = (self.0.as_bytes(), name.as_bytes());
        let mut in_pattern = 0;
        let mut in_name = 0;
        // Where to go on after a mismatch: the last star takes one more character.
        let mut retry: Option<(usize, usize)> = None;
        while in_name < name.len() {
            match pattern.get(in_pattern) {
                Some(b'*') => {
                    retry = Some((in_pattern + 1, in_name));
                    in_pattern += 1;
                }
                Some(wanted) if *wanted == name[in_name] => {
                    in_pattern += 1;
                    in_name += 1;
                }
                Some(_) | None => {
                    let Some((after_star, taken)) = retry else { return false };
                    retry = Some((after_star, taken + 1));
                    in_pattern = after_star;
                    in_name = taken + 1;
                }
            }
        }
        pattern[in_pattern..].iter().all(|byte| *byte == b'*')
    }
}

impl Default for WorkspaceGlob {
    fn default() -> Self {
        Self::EVERYTHING
    }
}

impl FromStr for WorkspaceGlob {
    type Err = BadGlob;

    fn from_str(text: &str) -> Result<Self, BadGlob> {
        let known = |byte: u8| byte.is_ascii_alphanumeric() || b"._/-*".contains(&byte);
        let fits = (1..=WORKSPACE_GLOB_CHARS_MAX).contains(&text.len());
        if fits && text.bytes().all(known) {
            Ok(Self(text.to_owned().into()))
        } else {
            Err(BadGlob)
        }
    }
}

impl fmt::Display for WorkspaceGlob {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl Serialize for WorkspaceGlob {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for WorkspaceGlob {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Cow::<'de, str>::deserialize(deserializer)?;
        text.parse().map_err(D::Error::custom)
    }
}

impl JsonSchema for WorkspaceGlob {
    fn schema_name() -> Cow<'static, str> {
        "WorkspaceGlob".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        String::json_schema(generator)
    }
}
