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
//! copy of the documents ([`decide`]), because a C-Tree event says how the tree stands after the
//! events before it.
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
mod grounds;
pub mod id;
pub mod limits;
pub mod lookup;
mod perform;
pub mod receipt;
pub mod rejection;
pub mod stream;
#[cfg(test)]
mod tests;
pub mod view;

pub use command::Command;
pub use envelope::{PROTOCOL_VERSION, encode, encode_row, encode_stream_only};
pub use event::Event;
pub use id::SessionId;
pub use perform::{Done, perform};
pub use rejection::Rejection;

use crate::{
    Address, Aggregate, Documents, Env, Index, Mark, Recorded, Refusal, Subject, Unloaded,
    ctree::{self, Digest, NodeId},
    todo::{Scope, ScopeKey},
};
use entity::{HistoryEntry, InputText, Permission, Standing, StoredNode};
use receipt::KeptAnswer;

/// The room itself.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Sessions {}

/// Name of a document.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Key {
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
    /// The node that a later event will look for, by the name it will use.
    Anchor(String),
    /// The answer kept for an idempotency key.
    Answer(String),
    /// The answer kept for the id of an outside event.
    Given(String),
    /// An approval.
    Permission(String),
}

impl Key {
    /// Name of a document that somebody else's id stands for: itself, or its digest where it is
    /// long.
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

    /// The answer kept for this key.
    pub fn answer(key: &str) -> Self {
        Self::Answer(Self::name(key))
    }

    /// The answer kept for this event id.
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
pub enum Document {
    /// The session, or what is left of it.
    Session(Standing),
    /// The text of an input that waits.
    Input(InputText),
    /// A todo list.
    Scope(Scope),
    /// A todo list after one revision.
    Entry(HistoryEntry),
    /// A node of the tree.
    Node(Box<StoredNode>),
    /// The text of a node.
    Text(ctree::Body),
    /// A node that later events look for.
    Anchor(NodeId),
    /// A kept answer.
    Answer(KeptAnswer),
    /// An approval.
    Permission(Permission),
}

impl Aggregate for Sessions {
    const STREAM: &'static str = "session";
    type Key = Key;
    type Document = Document;
    type Event = Event;
    type Command = Command;
    type Rejection = Rejection;
    type Brief = ();
    type Filter = ();

    fn address(key: &Key) -> Address {
        let (kind, name) = match key {
            Key::Session => ("session", String::new()),
            Key::Input(seq) => ("input", seq.to_string()),
            Key::Scope(scope) => ("scope", scope.to_string()),
            Key::Entry(scope, revision) => ("entry", format!("{revision} {scope}")),
            Key::Node(id) => ("node", id.to_string()),
            Key::Text(id) => ("text", id.to_string()),
            Key::Anchor(name) => ("anchor", name.clone()),
            Key::Answer(name) => ("answer", name.clone()),
            Key::Given(name) => ("given", name.clone()),
            Key::Permission(name) => ("permission", name.clone()),
        };
        Address { kind: kind.into(), name }
    }

    fn key(address: &Address) -> Option<Key> {
        let name = &address.name;
        match &*address.kind {
            "session" => Some(Key::Session),
            "input" => name.parse().ok().map(Key::Input),
            "scope" => ScopeKey::of(name).map(Key::Scope),
            "entry" => {
                let (revision, scope) = name.split_once(' ')?;
                Some(Key::Entry(ScopeKey::of(scope)?, revision.parse().ok()?))
            }
            "node" => Some(Key::Node(NodeId::given(name))),
            "text" => Some(Key::Text(NodeId::given(name))),
            "anchor" => Some(Key::Anchor(name.clone())),
            "answer" => Some(Key::Answer(name.clone())),
            "given" => Some(Key::Given(name.clone())),
            "permission" => Some(Key::Permission(name.clone())),
            _ => None,
        }
    }

    fn encode(document: &Document) -> serde_json::Result<String> {
        match document {
            Document::Session(standing) => serde_json::to_string(standing),
            Document::Input(input) => serde_json::to_string(input),
            Document::Scope(scope) => serde_json::to_string(scope),
            Document::Entry(entry) => serde_json::to_string(entry),
            Document::Node(node) => serde_json::to_string(node),
            Document::Text(text) => serde_json::to_string(text),
            Document::Anchor(id) => serde_json::to_string(id),
            Document::Answer(kept) => serde_json::to_string(kept),
            Document::Permission(permission) => serde_json::to_string(permission),
        }
    }

    fn decode(key: &Key, body: &str) -> serde_json::Result<Document> {
        match key {
            Key::Session => serde_json::from_str(body).map(Document::Session),
            Key::Input(_) => serde_json::from_str(body).map(Document::Input),
            Key::Scope(_) => serde_json::from_str(body).map(Document::Scope),
            Key::Entry(..) => serde_json::from_str(body).map(Document::Entry),
            Key::Node(_) => serde_json::from_str(body).map(Document::Node),
            Key::Text(_) => serde_json::from_str(body).map(Document::Text),
            Key::Anchor(_) => serde_json::from_str(body).map(Document::Anchor),
            Key::Answer(_) | Key::Given(_) => serde_json::from_str(body).map(Document::Answer),
            Key::Permission(_) => serde_json::from_str(body).map(Document::Permission),
        }
    }

    fn index(document: &Document) -> Index {
        match document {
            Document::Session(standing) => session_index(standing),
            Document::Scope(scope) => {
                Index { ord: scope.order, marks: Mark::Listed as u8, ..Index::default() }
            }
            Document::Entry(entry) => {
                let ord = u64::try_from(entry.revision).unwrap_or(0);
                Index { ord, parent: entry.scope.clone(), ..Index::default() }
            }
            Document::Node(stored) => grounds::index(&stored.node),
            Document::Input(_)
            | Document::Text(_)
            | Document::Anchor(_)
            | Document::Answer(_)
            | Document::Permission(_) => Index::default(),
        }
    }

    fn admits(_filter: &(), _document: &Document) -> bool {
        true
    }

    fn event_type(event: &Event) -> &str {
        &event.kind
    }

    fn subject(_event: &Event) -> Option<Subject> {
        None
    }

    fn ends(event: &Event) -> bool {
        event.is_end()
    }

    fn relocate(_event: &mut Event, _place: &mut dyn FnMut(u64) -> u64) {}

    fn decide(
        documents: &Documents<Self>,
        command: &Command,
        env: &Env,
    ) -> Result<Vec<Event>, Refusal<Self>> {
        decide::decide(documents, command, env)
    }

    fn evolve(
        documents: &mut Documents<Self>,
        event: &Recorded<Event>,
    ) -> Result<(), Unloaded<Self>> {
        evolve::apply(documents, event).map(drop)
    }
}

/// Sessions that live are in the list of all sessions, by the time they were made.
fn session_index(standing: &Standing) -> Index {
    match standing {
        Standing::Open(session) => {
            let ord = u64::try_from(session.created_at.0).unwrap_or(0);
            Index { ord, marks: Mark::Catalogued as u8, ..Index::default() }
        }
        Standing::Ended { .. } => Index::default(),
    }
}
