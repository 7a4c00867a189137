//! The credentials of callers: the agents' token, the person's key, signed-in browsers, tickets.

use std::{path::Path, sync::Arc, time::SystemTime};

use muster_api::StoreError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::sync::Semaphore;

use super::{CredentialSource, Identity, Requester};
use crate::{
    limits::{CODE_LIFETIME, CODES_MAX, TICKET_LIFETIME, TICKETS_MAX},
    one_time::OneTime,
    page_session::{PageCredential, PageSessions},
    person::PersonKey,
    server::ServerError,
    token::Token,
};

/// The role of a caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum CallerRole {
    /// A person: everything.
    Person,
    /// A program that may be an agent: everything but what only a person may do.
    Agent,
}

impl CallerRole {
    /// The name of the role on the wire.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Person => "person",
            Self::Agent => "agent",
        }
    }
}

/// The credentials that a server accepts.
pub(crate) struct Keys {
    /// The agents' token.
    pub(crate) token: Token,
    /// The person's key.
    pub(crate) person: PersonKey,
    /// Browsers that are signed in.
    pub(crate) pages: PageSessions,
    /// Codes of links that sign a browser in.
    pub(crate) codes: OneTime<Identity>,
    /// Tickets that open a WebSocket.
    pub(crate) tickets: OneTime<Requester>,
    /// Held while a passphrase is tried.
    pub(crate) passphrase_turn: Semaphore,
}

impl Keys {
    /// Reads the credentials of a storage folder, and creates missing ones.
    pub(crate) fn of(storage_dir: &Path) -> Result<Self, ServerError> {
        let token = Token::load_or_create(storage_dir)?;
        let person = PersonKey::of(storage_dir);
        person.ensure()?;
        Ok(Self {
            token,
            pages: PageSessions::in_folder(person.folder()),
            person,
            codes: OneTime::new(CODE_LIFETIME, CODES_MAX),
            tickets: OneTime::new(TICKET_LIFETIME, TICKETS_MAX),
            passphrase_turn: Semaphore::new(1),
        })
    }

    /// The caller that presents a secret.
    pub(super) fn requester_of(
        &self,
        secret: &str,
        origin: Option<&str>,
        now: SystemTime,
        source: &dyn CredentialSource,
    ) -> Result<Option<Requester>, StoreError> {
        if let Some(identity) = self.identity_of(secret, source)? {
            return Ok(Some(Requester::Program(identity)));
        }
        let Some((id, credential)) = self.pages.find(secret, origin, now) else { return Ok(None) };
        let identity = self.identity_behind(&credential, source)?;
        Ok(identity.map(|identity| Requester::Browser(identity, id)))
    }

    /// Whose token or key it is.
    pub(crate) fn identity_of(
        &self,
        secret: &str,
        source: &dyn CredentialSource,
    ) -> Result<Option<Identity>, StoreError> {
        if self.token.matches(secret) {
            return Ok(Some(Identity::Local(CallerRole::Agent)));
        }
        if self.person.matches(secret) {
            return Ok(Some(Identity::Local(CallerRole::Person)));
        }
        Ok(source.token(secret)?.map(|token| Identity::Named(Arc::new(token))))
    }

    /// Whose credential opened a session of a browser, if it is still one.
    pub(crate) fn identity_behind(
        &self,
        credential: &PageCredential,
        source: &dyn CredentialSource,
    ) -> Result<Option<Identity>, StoreError> {
        match credential {
            PageCredential::Local { role, bound_to } => {
                let is_same = self.bound_to(*role).as_ref() == Some(bound_to);
                Ok(is_same.then_some(Identity::Local(*role)))
            }
            PageCredential::Named { digest, .. } => {
                let token = source.live_token(digest)?;
                Ok(token.map(|token| Identity::Named(Arc::new(token))))
            }
        }
    }

    /// What a session that an identity opens is bound to: it ends with it.
    pub(crate) fn credential_of(&self, identity: &Identity) -> Option<PageCredential> {
        Some(match identity {
            Identity::Local(role) => {
                PageCredential::Local { role: *role, bound_to: self.bound_to(*role)? }
            }
            Identity::Named(token) => PageCredential::Named {
                role: identity.kind(),
                digest: token.digest.clone(),
                name: token.name.clone(),
            },
        })
    }

    /// Hash of a role's local credential.
    fn bound_to(&self, role: CallerRole) -> Option<String> {
        match role {
            CallerRole::Agent => Some(self.token.digest()),
            CallerRole::Person => self.person.digest(),
        }
    }
}
