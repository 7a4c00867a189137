//! Who makes a call, and from where.

use std::{path::PathBuf, sync::Arc};

use crate::{
    AnswerEconomy, CallWatch, WorkspaceId, access,
    runs::{RunFault, RunTold},
    sessions::random_bits,
};
use muster_core::{
    Author, AuthorKind, AuthorSurface, CallFacts, ConnectionId, access::AccessRights,
};
use muster_store::StoreError;

/// The caller of an operation, as its surface knows it.
#[derive(Clone, Debug, Default)]
pub struct Caller {
    /// Whom the events of the call name.
    pub by: Option<Arc<Author>>,
    /// What it may do, and in which workspaces.
    pub rights: AccessRights,
    /// Its connection, where one connection is one agent.
    pub connection: Option<ConnectionId>,
    /// Where the caller works.
    pub directory: Option<PathBuf>,
    /// What it pays for answers.
    pub economy: AnswerEconomy,
    /// Whether it waits however long the call takes.
    pub is_patient: bool,
    /// How it hears of the progress of the call and cancels it.
    pub watch: CallWatch,
}

pub fn new_connection() -> Result<ConnectionId, StoreError> {
    random_bits().map(ConnectionId::from_bits)
}

/// The login name of the person who started this process.
#[must_use]
pub fn person_name() -> String {
    let name = std::env::var("USER").or_else(|_| std::env::var("LOGNAME"));
    name.unwrap_or_else(|_| "person".to_owned())
}

impl Caller {
    /// A caller about whom no more is known than who it is.
    #[must_use]
    pub fn of(kind: AuthorKind, name: &str, via: AuthorSurface) -> Self {
        Self { by: Some(Arc::new(Author::new(kind, name, via))), ..Self::default() }
    }

    /// Refuses a workspace that is not the caller's.
    pub(crate) fn confirm_workspace(&self, workspace: &WorkspaceId) -> RunTold<()> {
        let checked = access::in_workspace(&self.rights, workspace.as_str());
        checked.map_err(|error| RunFault::from(*error))
    }

    /// What the rules may know of it.
    pub(crate) fn facts(&self) -> CallFacts {
        CallFacts { by: self.by.clone(), connection: self.connection.clone(), files: None }
    }
}
