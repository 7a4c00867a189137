//! Who sent a request, and what that allows.

use std::sync::Arc;

use muster_api::{AccessRights, AccessRole, Caller, NamedToken, person_name, runs::Bearer};
use muster_core::{AuthorKind, AuthorSurface};

use super::CallerRole;
use crate::{
    dialect::body_bytes_max, limits::STRANGER_BODY_BYTES_MAX, page_session::PageSessionId,
};

/// Whose credential it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Identity {
    /// The person's key or the agents' token of this storage folder. Both are owners; what only a
    /// person may do needs the key.
    Local(CallerRole),
    /// A named token.
    Named(Arc<NamedToken>),
}

/// Who sent a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Requester {
    /// A program.
    Program(Identity),
    /// A browser that is signed in.
    Browser(Identity, PageSessionId),
    /// The agent of a node; its token opens the routes of agents alone (RUNS-SEC-3).
    Node(Bearer),
    /// Anyone, on a server without authentication.
    Anybody,
    /// A caller without a valid secret.
    Stranger,
}

impl Identity {
    /// Whether it is a person's.
    pub(crate) fn kind(&self) -> CallerRole {
        match self {
            Self::Local(role) => *role,
            Self::Named(token) if token.role.is_person() => CallerRole::Person,
            Self::Named(_) => CallerRole::Agent,
        }
    }

    pub(crate) fn rights(&self) -> AccessRights {
        match self {
            Self::Local(_) => AccessRights::default(),
            Self::Named(token) => AccessRights::of(token),
        }
    }

    pub(crate) fn named(&self) -> Option<&Arc<NamedToken>> {
        match self {
            Self::Local(_) => None,
            Self::Named(token) => Some(token),
        }
    }
}

impl Requester {
    /// Whether the caller is a person or may be an agent; a node has rights of its own kind, a
    /// stranger none. Without authentication everyone is a person.
    pub(crate) fn role(&self) -> Option<CallerRole> {
        match self {
            Self::Program(identity) | Self::Browser(identity, _) => Some(identity.kind()),
            Self::Anybody => Some(CallerRole::Person),
            Self::Node(_) | Self::Stranger => None,
        }
    }

    pub(crate) fn is_person(&self) -> bool {
        self.role() == Some(CallerRole::Person)
    }

    /// Whose credential it came with, if it came with one that is no node's.
    pub(crate) fn identity(&self) -> Option<&Identity> {
        match self {
            Self::Program(identity) | Self::Browser(identity, _) => Some(identity),
            Self::Node(_) | Self::Anybody | Self::Stranger => None,
        }
    }

    /// The named token that it came with.
    pub(crate) fn token(&self) -> Option<&Arc<NamedToken>> {
        self.identity().and_then(Identity::named)
    }

    /// What it may do, and where.
    pub(crate) fn rights(&self) -> AccessRights {
        match self {
            Self::Program(identity) | Self::Browser(identity, _) => identity.rights(),
            // A node's rights are those of its routes.
            Self::Anybody | Self::Node(_) => AccessRights::default(),
            Self::Stranger => AccessRights { role: AccessRole::Viewer, ..AccessRights::default() },
        }
    }

    /// Whom the events of its operations name.
    pub(crate) fn caller(&self) -> Caller {
        let via = match self {
            Self::Browser(..) => AuthorSurface::Page,
            Self::Node(_) => AuthorSurface::Run,
            Self::Program(_) | Self::Anybody | Self::Stranger => AuthorSurface::Http,
        };
        let caller = match (self.token(), self.role()) {
            (Some(token), _) => {
                Caller { by: Some(Arc::new(token.author(via))), ..Caller::default() }
            }
            (None, Some(CallerRole::Person)) => Caller::of(AuthorKind::Person, &person_name(), via),
            (None, Some(CallerRole::Agent) | None) => {
                Caller::of(AuthorKind::Agent, "program with the token", via)
            }
        };
        Caller { rights: self.rights(), ..caller }
    }

    /// Largest body that is read for this caller, in bytes. Only known callers may
    /// take up memory; a stranger gets just enough to sign in.
    pub(super) fn body_bytes_max(&self, path: &str, token_max: usize) -> usize {
        match self {
            Self::Program(Identity::Named(_)) | Self::Browser(Identity::Named(_), _) => {
                body_bytes_max(path).min(token_max)
            }
            Self::Program(_) | Self::Browser(_, _) | Self::Node(_) | Self::Anybody => {
                body_bytes_max(path)
            }
            Self::Stranger => STRANGER_BODY_BYTES_MAX,
        }
    }
}
