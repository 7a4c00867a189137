//! What callers are known by: the agents' token, the person's key, signed-in browsers, tickets.

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

/// What a caller is trusted with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum CallerRole {
    /// A person: everything.
    Person,
    /// A program that an agent could be: everything but what only a person may do.
    Agent,
}

impl CallerRole {
    /// The role as it is written.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Person => "person",
            Self::Agent => "agent",
        }
    }
}

/// What callers of a server are known by.
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
    /// Held by whoever tries a passphrase.
    pub(crate) passphrase_turn: Semaphore,
}

impl Keys {
    /// Reads those of a storage folder, and makes what is not there yet.
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

    /// Who presents a secret.
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

    /// The role that the token or the key stands for.
    pub(crate) fn role_of_secret(&self, secret: &str) -> Option<CallerRole> {
        if self.token.matches(secret) {
            return Some(CallerRole::Agent);
        }
        self.person.matches(secret).then_some(CallerRole::Person)
    }

    /// Hash of what a role is known by: a session that it opened ends with it.
    pub(crate) fn bound_to(&self, role: CallerRole) -> Option<String> {
        match role {
            CallerRole::Agent => Some(self.token.digest()),
            CallerRole::Person => self.person.digest(),
        }
    }
}
