//! Sessions for the surfaces: commands in, views out, streams to follow.
//!
//! The rules are the room's ([`muster_core::session`]); here a session is found by its id, read
//! from a snapshot and written in one transaction.

mod connection;
mod host;
mod input;
mod list;
mod todos;
mod watched;
mod words;

pub use connection::ConnectionMessages;
pub use input::{InputFault, SaidInput};
pub use list::{SessionCursor, SessionPage, SessionsRequest};
pub(crate) use todos::{TodoWriteFault, WrittenTodos};
pub use watched::{ReportsFault, WorkspaceOfDirectory};
pub use words::{malformed_words, refusal_words};

use muster_core::{
    Documents, Draft, Timestamp, WorkRefusal,
    access::AccessRights,
    ctree::{ContextTree, tree::Compiled},
    session::{
        self, SessionAggregate, SessionCommand, SessionCommandResult, SessionId, SessionRejection,
        command::Create,
        view::{
            self, Ctrees, SessionObject, SessionTodos, Snapshots, TodoHistory, TodoHistoryPage,
        },
    },
    todo::ScopeKey,
};
use muster_engine::{Encode, ExecuteError, Follower};
use muster_store::{EventRow, StoreError};

pub use muster_core::session::view::{
    DroppedPage, DroppedRequest, NodesPage, TreeRequest, TreeStage,
};

use crate::App;

/// Why a request to a session failed.
#[derive(Debug, Clone)]
pub enum SessionFault {
    /// A rule rejected it.
    Refused(Box<SessionRejection>),
    /// The store failed.
    Store(StoreError),
}

impl From<ExecuteError<SessionRejection>> for SessionFault {
    fn from(error: ExecuteError<SessionRejection>) -> Self {
        match error {
            ExecuteError::Rejected(rejection) => Self::Refused(rejection),
            ExecuteError::Store(failure) => Self::Store(failure.0),
        }
    }
}

impl From<StoreError> for SessionFault {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

/// Result about a session.
pub type Told<T> = Result<T, SessionFault>;

/// A session that was created, now or by an earlier call under the same key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CreatedSession {
    pub id: SessionId,
    /// When it was created.
    pub created_at: Timestamp,
}

/// The sessions of an application.
#[derive(Clone, Copy)]
pub struct SessionDesk<'a>(&'a App);

impl App {
    /// The sessions of the store.
    pub fn sessions(&self) -> SessionDesk<'_> {
        SessionDesk(self)
    }
}

impl SessionDesk<'_> {
    /// Creates a session under a new id; a repetition under the same key names the first one, even
    /// if that was deleted.
    pub fn create(self, create: Create) -> Told<CreatedSession> {
        let id = match &create.key {
            Some(key) => SessionId::of_key(&key.key),
            None => self.fresh_id()?,
        };
        let done = self.perform(&id, SessionCommand::Create(Box::new(create)))?;
        Ok(CreatedSession { id, created_at: done.receipt.at })
    }

    /// Applies a command to a session, durably.
    pub fn perform(self, id: &SessionId, command: SessionCommand) -> Told<SessionCommandResult> {
        let engine = self.0.engine();
        let work = move |draft: &mut Draft<'_, SessionAggregate>| session::perform(draft, &command);
        Ok(engine.execute::<SessionAggregate, SessionCommandResult>(id.stream(), work)?)
    }

    /// A new session id.
    pub fn fresh_id(self) -> Result<SessionId, StoreError> {
        random_bits().map(SessionId::from_bits)
    }

    /// Runs a view over a snapshot of a session.
    pub fn read<T>(
        self,
        id: &SessionId,
        view: impl Fn(&Documents<SessionAggregate>) -> Result<T, WorkRefusal<SessionAggregate>>,
    ) -> Told<T> {
        Ok(self.0.engine().read::<SessionAggregate, T>(&id.stream(), view)?)
    }

    pub fn show(self, id: &SessionId) -> Told<SessionObject> {
        self.read(id, |docs| view::object(docs, id))
    }

    /// Whether a caller may see a session, if it exists. A deleted one is nobody's.
    pub fn is_open_to(self, rights: &AccessRights, id: &SessionId) -> Told<bool> {
        let Some(owner) = &rights.sessions_of else { return Ok(true) };
        let made_by = self.read(id, |docs| Ok(session::lookup::session(docs)?.made_by.clone()));
        match made_by {
            Ok(made_by) => Ok(made_by.as_ref() == Some(owner)),
            Err(SessionFault::Refused(_)) => Ok(false),
            Err(fault) => Err(fault),
        }
    }

    /// How many sessions there are.
    pub fn count(self) -> Told<usize> {
        let streams = self.0.engine().store().snapshot()?.streams("session/")?;
        Ok(streams.iter().filter(|stream| !stream.ended).count())
    }

    /// Its todo lists, or the requested one.
    pub fn todos(self, id: &SessionId, scope: Option<&ScopeKey>) -> Told<SessionTodos> {
        self.read(id, |docs| view::todos(docs, id, scope))
    }

    /// A part of a todo list's history.
    pub fn history(self, id: &SessionId, page: &TodoHistoryPage) -> Told<TodoHistory> {
        self.read(id, |docs| view::history(docs, id, page))
    }

    /// The summary of its tree.
    pub fn ctrees(self, id: &SessionId) -> Told<Ctrees> {
        self.read(id, view::ctrees)
    }

    /// Its tree as text within a budget, and the last event in it.
    pub fn compiled(self, id: &SessionId, max_chars: Option<u64>) -> Told<(Compiled, u64)> {
        self.read(id, |docs| Ok((view::compiled(docs, max_chars)?, view::last_seq(docs)?)))
    }

    /// A page of the nodes that the compiled text leaves out.
    pub fn dropped(self, id: &SessionId, request: &DroppedRequest) -> Told<Option<DroppedPage>> {
        let view = |docs: &Documents<SessionAggregate>, tree: &ContextTree| {
            view::dropped_page(docs, tree, request)
        };
        Ok(self.0.engine().read_tree(id, view)?)
    }

    /// A part of its tree's nodes.
    pub fn nodes(self, id: &SessionId, request: &TreeRequest) -> Told<Option<NodesPage>> {
        let view = |docs: &Documents<SessionAggregate>, tree: &ContextTree| {
            view::tree_page(docs, tree, request)
        };
        Ok(self.0.engine().read_tree(id, view)?)
    }

    /// The first messages of a connection that is not a gapless resume (TS-4).
    pub fn snapshots(self, id: &SessionId) -> Told<Snapshots> {
        self.read(id, view::snapshots)
    }

    /// Follows its events after a number. Each is encoded once for all readers:
    /// [`session_event_text`] returns its text.
    pub fn follow(self, id: &SessionId, after: u64, encode: Encode) -> Told<Follower> {
        Ok(self.0.engine().follow(id.stream(), after, encode)?)
    }
}

/// A stored event as it is sent; `None` for the one that ends the session.
pub fn session_event_text(stream: &str, row: &EventRow) -> Option<String> {
    if row.kind == session::body::SESSION_ENDED {
        return None;
    }
    let id = SessionId::of_stream(stream)?;
    let encoded = session::encode_row(&id, row.seq, row.at, &row.body);
    encoded
        .inspect_err(
            |error| tracing::error!(%error, stream, seq = row.seq, "an event is unreadable"),
        )
        .ok()
}

pub(crate) fn random_bits() -> Result<u128, StoreError> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|error| StoreError::Engine {
        action: "drew a random number",
        cause: error.to_string(),
    })?;
    Ok(u128::from_le_bytes(bytes))
}
