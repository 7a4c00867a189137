//! The credentials of callers: the agents' token, the person's key, signed-in browsers, tickets.

use std::{path::Path, time::SystemTime};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::sync::Semaphore;

use super::Requester;
use crate::{
    limits::{CODE_LIFETIME, CODES_MAX, TICKET_LIFETIME, TICKETS_MAX},
    one_time::OneTime,
    page_session::PageSessions,
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
    pub(crate) codes: OneTime<CallerRole>,
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
    pub(super) fn access_of(
        &self,
        secret: &str,
        origin: Option<&str>,
        now: SystemTime,
    ) -> Option<Requester> {
        let program = self.role_of_secret(secret).map(Requester::Program);
        program.or_else(|| {
            let page = self.pages.find(secret, origin, now, |role| self.bound_to(role));
            page.map(|(id, role)| Requester::Browser(role, id))
        })
    }

    /// The role of the token or the key.
    pub(crate) fn role_of_secret(&self, secret: &str) -> Option<CallerRole> {
        if self.token.matches(secret) {
            return Some(CallerRole::Agent);
        }
        self.person.matches(secret).then_some(CallerRole::Person)
    }

    /// Hash of a role's credential: sessions that it opened end with it.
    pub(crate) fn bound_to(&self, role: CallerRole) -> Option<String> {
        match role {
            CallerRole::Agent => Some(self.token.digest()),
            CallerRole::Person => self.person.digest(),
        }
    }
}
