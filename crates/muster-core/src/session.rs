//! The session room: one conversation with its event log, its todo lists and its tree.
//!
//! ```text
//!   command ──decide──► events: what happened, then the C-Tree events that follow from it
//!                         │
//!                         └─evolve──► session · todo lists and their history · nodes of the tree
//! ```
//!
//! The stream in the log is the session's list of events, one to one: nothing else is in it, so its
//! numbers are the session's numbers (EN-2). All that a command causes is decided in one go, on a
//! copy of the documents ([`decide`]), because a C-Tree event contains the state of the tree after
//! the events before it.
//!
//! Not here: HTTP and its status codes, connections and their buffers, and who may do what.

pub mod body;
pub mod command;
mod compile;
mod decide;
pub mod entity;
mod envelope;
pub mod event;
mod evolve;
mod fact;
pub mod id;
pub mod limits;
pub mod lookup;
mod perform;
pub mod receipt;
pub mod rejection;
mod stored_tree;
pub mod stream;
#[cfg(test)]
mod tests;
pub mod view;
pub mod watched;

pub use command::SessionCommand;
pub use envelope::{PROTOCOL_VERSION, encode, encode_row, encode_stream_only};
pub use event::SessionEvent;
pub use id::SessionId;
pub use perform::{SessionCommandResult, perform, take_report};
pub use rejection::SessionRejection;

use crate::{
    Address, Aggregate, Documents, Draft, EventStrings, Index, Mark, Recorded, SearchTopic,
    Subject, Unloaded, WorkRefusal,
    ctree::{self, Digest, NodeId, Planted},
    todo::{ScopeKey, TodoScope},
    watched::AgentProcess,
};
use entity::{HistoryEntry, InputText, Permission, Standing, StoredNode};
use receipt::SessionAnswer;
use watched::WaitingSession;

/// The room itself.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum SessionAggregate {}

/// Name of a document.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum SessionKey {
    /// The session itself.
    Session,
    /// The text of an input that waits, by the number of its event.
    Input(u64),
    /// A todo list.
    Scope(ScopeKey),
    /// A todo list after one revision.
    Entry(ScopeKey, i64),
    /// A node of the tree.
    Node(NodeId),
    /// The text of a node, where it is long.
    Text(NodeId),
    /// The node that a later event will look up, by its anchor.
    Anchor(String),
    /// The response kept for an idempotency key.
    Answer(String),
    /// The response kept for the id of an outside event.
    Given(String),
    /// An approval.
    Permission(String),
    /// What the agent of the session waits for.
    Waiting,
    /// The process of the agent, while it runs.
    Process,
}

impl SessionKey {
    /// Name of a document for an external id: the id itself, or its digest if it is long.
    fn name(id: &str) -> String {
        if id.len() <= limits::ID_CHARS_MAX && !id.starts_with('#') {
            return id.to_owned();
        }
        format!("#{}", Digest::of(id))
    }

    /// The approval with this id.
    pub fn permission(request_id: &str) -> Self {
        Self::Permission(Self::name(request_id))
    }

    /// The response kept for this key.
    pub fn answer(key: &str) -> Self {
        Self::Answer(Self::name(key))
    }

    /// The response kept for this event id.
    pub fn given(id: &str) -> Self {
        Self::Given(Self::name(id))
    }

    /// The node anchored under this name.
    fn anchor(anchor: &ctree::Anchor) -> Self {
        Self::Anchor(match anchor {
            ctree::Anchor::NewestTurn => "newest_turn".to_owned(),
            ctree::Anchor::Turn(turn) => format!("turn {turn}"),
            ctree::Anchor::Call(id) => format!("call {}", Self::name(id)),
            ctree::Anchor::Task(id) => format!("task {}", Self::name(id)),
            ctree::Anchor::Scope(key) => format!("scope {key}"),
        })
    }
}

/// A current-state document.
#[derive(Clone, PartialEq, Debug)]
pub enum SessionDocument {
    /// The session, or what is left of it.
    Session(Standing),
    /// The text of an input that waits.
    Input(InputText),
    /// A todo list.
    Scope(TodoScope),
    /// A todo list after one revision.
    Entry(HistoryEntry),
    /// A node of the tree.
    Node(Box<StoredNode>),
    Text(ctree::NodeText),
    /// A node that later events look for.
    Anchor(NodeId),
    /// A kept answer.
    Answer(SessionAnswer),
    /// An approval.
    Permission(Permission),
    /// What the agent of the session waits for.
    Waiting(Box<WaitingSession>),
    /// The process of the agent, while it runs.
    Process(AgentProcess),
}

impl Aggregate for SessionAggregate {
    const STREAM: &'static str = "session";
    type Key = SessionKey;
    type Document = SessionDocument;
    type Event = SessionEvent;
    type Applied = Planted;
    type Command = SessionCommand;
    type Rejection = SessionRejection;
    type Brief = ();
    type Filter = ();

    fn address(key: &SessionKey) -> Address {
        let (kind, name) = match key {
            SessionKey::Session => ("session", String::new()),
            SessionKey::Input(seq) => ("input", seq.to_string()),
            SessionKey::Scope(scope) => ("scope", scope.to_string()),
            SessionKey::Entry(scope, revision) => ("entry", format!("{revision} {scope}")),
            SessionKey::Node(id) => ("node", id.to_string()),
            SessionKey::Text(id) => ("text", id.to_string()),
            SessionKey::Anchor(name) => ("anchor", name.clone()),
            SessionKey::Answer(name) => ("answer", name.clone()),
            SessionKey::Given(name) => ("given", name.clone()),
            SessionKey::Permission(name) => ("permission", name.clone()),
            SessionKey::Waiting => ("waiting", String::new()),
            SessionKey::Process => ("process", String::new()),
        };
        Address { kind: kind.into(), name }
    }

    fn key(address: &Address) -> Option<SessionKey> {
        let name = &address.name;
        match &*address.kind {
            "session" => Some(SessionKey::Session),
            "input" => name.parse().ok().map(SessionKey::Input),
            "scope" => ScopeKey::of(name).map(SessionKey::Scope),
            "entry" => {
                let (revision, scope) = name.split_once(' ')?;
                Some(SessionKey::Entry(ScopeKey::of(scope)?, revision.parse().ok()?))
            }
            "node" => Some(SessionKey::Node(NodeId::given(name))),
            "text" => Some(SessionKey::Text(NodeId::given(name))),
            "anchor" => Some(SessionKey::Anchor(name.clone())),
            "answer" => Some(SessionKey::Answer(name.clone())),
            "given" => Some(SessionKey::Given(name.clone())),
            "permission" => Some(SessionKey::Permission(name.clone())),
            "waiting" => Some(SessionKey::Waiting),
            "process" => Some(SessionKey::Process),
            _ => None,
        }
    }

    fn encode(document: &SessionDocument) -> serde_json::Result<String> {
        match document {
            SessionDocument::Session(standing) => serde_json::to_string(standing),
            SessionDocument::Input(input) => serde_json::to_string(input),
            SessionDocument::Scope(scope) => serde_json::to_string(scope),
            SessionDocument::Entry(entry) => serde_json::to_string(entry),
            SessionDocument::Node(node) => serde_json::to_string(node),
            SessionDocument::Text(text) => serde_json::to_string(text),
            SessionDocument::Anchor(id) => serde_json::to_string(id),
            SessionDocument::Answer(kept) => serde_json::to_string(kept),
            SessionDocument::Permission(permission) => serde_json::to_string(permission),
            SessionDocument::Waiting(waiting) => serde_json::to_string(waiting),
            SessionDocument::Process(process) => serde_json::to_string(process),
        }
    }

    fn decode(key: &SessionKey, body: &str) -> serde_json::Result<SessionDocument> {
        match key {
            SessionKey::Session => serde_json::from_str(body).map(SessionDocument::Session),
            SessionKey::Input(_) => serde_json::from_str(body).map(SessionDocument::Input),
            SessionKey::Scope(_) => serde_json::from_str(body).map(SessionDocument::Scope),
            SessionKey::Entry(..) => serde_json::from_str(body).map(SessionDocument::Entry),
            SessionKey::Node(_) => serde_json::from_str(body).map(SessionDocument::Node),
            SessionKey::Text(_) => serde_json::from_str(body).map(SessionDocument::Text),
            SessionKey::Anchor(_) => serde_json::from_str(body).map(SessionDocument::Anchor),
            SessionKey::Answer(_) | SessionKey::Given(_) => {
                serde_json::from_str(body).map(SessionDocument::Answer)
            }
            SessionKey::Permission(_) => {
                serde_json::from_str(body).map(SessionDocument::Permission)
            }
            SessionKey::Waiting => serde_json::from_str(body).map(SessionDocument::Waiting),
            SessionKey::Process => serde_json::from_str(body).map(SessionDocument::Process),
        }
    }

    fn index(document: &SessionDocument) -> Index {
        match document {
            SessionDocument::Session(standing) => session_index(standing),
            SessionDocument::Scope(scope) => {
                Index { ord: scope.order, marks: Mark::Listed as u8, ..Index::default() }
            }
            SessionDocument::Entry(entry) => {
                let ord = u64::try_from(entry.revision).unwrap_or(0);
                Index { ord, parent: entry.scope.clone(), ..Index::default() }
            }
            SessionDocument::Node(stored) => stored_tree::index(&stored.node),
            SessionDocument::Waiting(waiting) => {
                let ord = u64::try_from(waiting.wait.since_ms.0).unwrap_or(0);
                Index { ord, marks: Mark::Catalogued as u8, ..Index::default() }
            }
            SessionDocument::Process(_) => {
                Index { marks: Mark::Catalogued as u8, ..Index::default() }
            }
            SessionDocument::Input(_)
            | SessionDocument::Text(_)
            | SessionDocument::Anchor(_)
            | SessionDocument::Answer(_)
            | SessionDocument::Permission(_) => Index::default(),
        }
    }

    fn admits(_filter: &(), _document: &SessionDocument) -> bool {
        true
    }

    fn has_strings(kind: &str) -> bool {
        kind == body::SESSION_META
    }

    fn strings(event: &SessionEvent) -> Option<EventStrings<'_>> {
        let title = event.data.get("title")?.as_str()?;
        EventStrings::of(SearchTopic::Session, [title])
    }

    fn event_type(event: &SessionEvent) -> &str {
        &event.kind
    }

    fn subject(_event: &SessionEvent) -> Option<Subject> {
        None
    }

    fn ends(event: &SessionEvent) -> bool {
        event.is_end()
    }

    fn relocate(_event: &mut SessionEvent, _place: &mut dyn FnMut(u64) -> u64) {}

    fn decide(
        draft: &mut Draft<'_, Self>,
        command: &SessionCommand,
    ) -> Result<(), WorkRefusal<Self>> {
        decide::decide(draft, command)
    }

    fn evolve(
        documents: &mut Documents<Self>,
        event: &Recorded<SessionEvent>,
    ) -> Result<Planted, Unloaded<Self>> {
        evolve::apply(documents, event)
    }
}

/// Live sessions are in the list of all sessions, by creation time.
fn session_index(standing: &Standing) -> Index {
    match standing {
        Standing::Open(session) => {
            let ord = u64::try_from(session.created_at.0).unwrap_or(0);
            Index { ord, marks: Mark::Catalogued as u8, ..Index::default() }
        }
        Standing::Ended { .. } => Index::default(),
    }
}
