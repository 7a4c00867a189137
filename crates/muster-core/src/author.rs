//! Who did something, and on which surface. Every event of a log names its author; events of older
//! versions have none.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Longest name of an author, in characters.
pub const AUTHOR_NAME_CHARS_MAX: usize = 120;

/// The author of an event.
#[derive(
    Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize, JsonSchema,
)]
pub struct Author {
    pub kind: AuthorKind,
    /// A person's login name or the name of their token; an agent's program and version, or its
    /// node; the part of the server.
    pub name: String,
    pub via: AuthorSurface,
}

#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum AuthorKind {
    Person,
    Agent,
    /// Muster itself.
    Server,
}

/// How the author reached Muster.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum AuthorSurface {
    Mcp,
    Http,
    Cli,
    Page,
    Terminal,
    /// As a node of a run.
    Run,
    Hook,
    /// Not through a surface.
    Server,
}

impl Author {
    /// An author by name; control characters and everything over the limit are dropped, because
    /// clients name themselves.
    #[must_use]
    pub fn new(kind: AuthorKind, name: &str, via: AuthorSurface) -> Self {
        let printable = name.chars().filter(|character| !character.is_control());
        let name: String = printable.take(AUTHOR_NAME_CHARS_MAX).collect();
        Self { kind, name: name.trim().to_owned(), via }
    }

    /// A part of Muster that acts on its own.
    #[must_use]
    pub fn server(part: &str) -> Self {
        Self::new(AuthorKind::Server, part, AuthorSurface::Server)
    }

    #[must_use]
    pub fn is_person(&self) -> bool {
        self.kind == AuthorKind::Person
    }
}

#[cfg(test)]
mod tests {
    use super::{AUTHOR_NAME_CHARS_MAX, Author, AuthorKind, AuthorSurface};

    #[test]
    fn a_name_has_a_limit_and_no_control_characters() {
        let long = format!(" evil\u{1b}[2J\n{}", "x".repeat(500));
        let author = Author::new(AuthorKind::Agent, &long, AuthorSurface::Mcp);
        assert!(author.name.starts_with("evil[2Jxxx"), "{}", author.name);
        assert!(author.name.chars().count() < AUTHOR_NAME_CHARS_MAX);
    }

    #[test]
    fn an_author_is_small_json() {
        let author = Author::new(AuthorKind::Person, "ada", AuthorSurface::Cli);
        let json = serde_json::to_string(&author).unwrap();
        assert_eq!(json, r#"{"kind":"person","name":"ada","via":"cli"}"#);
    }
}
