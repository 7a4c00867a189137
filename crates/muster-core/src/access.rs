//! Who may do what: roles, the workspaces that a caller may use, and named tokens (TEAM-WHO-1).
//!
//! What is deliberately not here: which role a route or an operation needs. Their rows say so.

mod glob;
mod room;
#[cfg(test)]
mod tests;

use std::{fmt, str::FromStr};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Author, AuthorKind, AuthorSurface};

pub use glob::{BadGlob, WORKSPACE_GLOB_CHARS_MAX, WorkspaceGlob};
pub use room::{NamedTokens, STREAM, TOKENS_MAX, TokenCommand, TokenEvent, TokenRefusal};

/// Longest name of a token, in characters.
pub const TOKEN_NAME_CHARS_MAX: usize = 64;

/// What a caller may do; each role may do what the ones before it may.
///
/// The token of an agent is an exception: it reaches what MCP offers and its own sessions, and
/// not what other viewers may read.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum AccessRole {
    /// Reads.
    Viewer,
    /// Works on tasks, and does nothing that only a person may do.
    Agent,
    /// A person who works: answers approvals, sets checks aside, accepts projects.
    Member,
    /// Also manages tokens and settings. Callers of this machine are owners.
    #[default]
    Owner,
}

impl AccessRole {
    /// All roles, the least first.
    pub const ALL: [Self; 4] = [Self::Viewer, Self::Agent, Self::Member, Self::Owner];

    /// The word on the wire.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Viewer => "viewer",
            Self::Agent => "agent",
            Self::Member => "member",
            Self::Owner => "owner",
        }
    }

    /// Whether callers with this role are people.
    #[must_use]
    pub fn is_person(self) -> bool {
        self != Self::Agent
    }
}

impl fmt::Display for AccessRole {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

impl FromStr for AccessRole {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        Self::ALL.into_iter().find(|role| role.name() == text).ok_or(())
    }
}

/// What a caller may do, and where. By default everything: a process of this machine that opens
/// the store needs no permission.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AccessRights {
    pub role: AccessRole,
    pub workspaces: WorkspaceGlob,
    /// The token whose sessions are the only ones that the caller may see, if not all of them.
    pub sessions_of: Option<String>,
}

impl AccessRights {
    /// Those of a token.
    #[must_use]
    pub fn of(token: &NamedToken) -> Self {
        Self {
            role: token.role,
            workspaces: token.workspaces.clone(),
            sessions_of: token.is_confined().then(|| token.name.clone()),
        }
    }
}

/// A token with a name, as it is stored: without its secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NamedToken {
    /// SHA-256 of the secret, in hexadecimal.
    pub digest: String,
    /// Under which its holder is the author of events.
    pub name: String,
    pub role: AccessRole,
    pub workspaces: WorkspaceGlob,
    /// In Unix milliseconds.
    pub created_at: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_by: Option<Author>,
    /// In Unix milliseconds; `None` for a token that does not expire.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<i64>,
    /// Its place in the list.
    pub number: u64,
}

impl NamedToken {
    /// Whether it may still be used at a moment.
    #[must_use]
    pub fn is_live(&self, now: crate::Timestamp) -> bool {
        self.expires_at.is_none_or(|expires| now.0 < expires)
    }

    /// Whether it is for some callers' part of the store only, not for all of it.
    #[must_use]
    pub fn is_confined(&self) -> bool {
        self.role == AccessRole::Agent || !self.workspaces.is_everything()
    }

    /// Whom events of its holder name.
    #[must_use]
    pub fn author(&self, via: AuthorSurface) -> Author {
        let kind = if self.role.is_person() { AuthorKind::Person } else { AuthorKind::Agent };
        Author::new(kind, &self.name, via)
    }
}

/// Whether a string can be the name of a token. It stands in lists, logs and command lines.
#[must_use]
pub fn is_token_name(text: &str) -> bool {
    let first = text.bytes().next().is_some_and(|byte| byte.is_ascii_alphanumeric());
    let rest = |byte: u8| byte.is_ascii_alphanumeric() || b"._@-".contains(&byte);
    first && text.len() <= TOKEN_NAME_CHARS_MAX && text.bytes().all(rest)
}
