//! What the guard asks the store: nodes and named tokens by their secrets, and whose a session is.

use std::sync::Arc;

use muster_api::{
    AccessRights, App, NamedToken, SessionFault, StoreError, refusal_words,
    runs::{Bearer, RunFault},
};
use muster_core::{
    run::id::{ApprovalId, RunId},
    session::SessionId,
};
use tokio::{
    runtime::{Handle, RuntimeFlavor},
    task,
};

/// Finds credentials, and whom sessions belong to.
pub(crate) trait CredentialSource: Send + Sync {
    /// The node of a token, if that node is active.
    fn node(&self, secret: &str) -> Option<Bearer>;

    /// The named token with this secret, if it may be used now.
    fn token(&self, secret: &str) -> Result<Option<NamedToken>, StoreError>;

    /// The named token with this digest, if it may be used now.
    fn live_token(&self, digest: &str) -> Result<Option<NamedToken>, StoreError>;

    /// Whether a caller may see something; why that cannot be said.
    fn is_open_to(&self, rights: &AccessRights, subject: &AccessSubject) -> Result<bool, String>;
}

/// What a request is about, by its path or query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum AccessSubject {
    Session(SessionId),
    Run(RunId),
    Approval(ApprovalId),
}

impl CredentialSource for Arc<App> {
    fn node(&self, secret: &str) -> Option<Bearer> {
        self.driver()?.node_of_token(secret)
    }

    fn token(&self, secret: &str) -> Result<Option<NamedToken>, StoreError> {
        blocking(|| self.tokens().find(secret))
    }

    fn live_token(&self, digest: &str) -> Result<Option<NamedToken>, StoreError> {
        blocking(|| self.tokens().live(digest))
    }

    fn is_open_to(&self, rights: &AccessRights, subject: &AccessSubject) -> Result<bool, String> {
        let of_run = |fault: RunFault| fault.detail;
        blocking(|| match subject {
            AccessSubject::Session(session) => {
                let found = self.sessions().is_open_to(rights, session);
                found.map_err(|fault| match fault {
                    SessionFault::Store(error) => error.to_string(),
                    SessionFault::Refused(rejection) => refusal_words(&rejection),
                })
            }
            AccessSubject::Run(run) => self.runs().is_open_to(rights, *run).map_err(of_run),
            AccessSubject::Approval(approval) => {
                self.runs().approval_is_open_to(rights, *approval).map_err(of_run)
            }
        })
    }
}

/// Reads from the store, which may wait for another machine: the other tasks of this thread move
/// to another one. A runtime with one thread has no other.
fn blocking<T>(read: impl FnOnce() -> T) -> T {
    match Handle::try_current().map(|runtime| runtime.runtime_flavor()) {
        Ok(RuntimeFlavor::MultiThread) => task::block_in_place(read),
        Ok(_) | Err(_) => read(),
    }
}
