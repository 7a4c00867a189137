//! What a room of the domain is: commands decided into events, events evolved into documents.
//!
//! ```text
//!   command ──decide(draft, command)──► draft.emit(event) ──evolve(documents, event)──► documents
//! ```
//!
//! Both functions are pure. `decide` may refuse; `evolve` may not: an event is a fact. An event is
//! applied when it is emitted, so that a decision of several events sees what the first ones did.

use std::{borrow::Cow, fmt::Debug, sync::Arc};

use serde::{Serialize, de::DeserializeOwned};

use crate::{
    Author, Compact, ConnectionId, Documents, Draft, EventStrings, Json, Need, TextCondition,
    Timestamp, Unloaded, checks::project::ProjectFiles,
};

/// A family of documents that changes only through its own events, in one ordered stream.
pub trait Aggregate: Sized + Clone + PartialEq + Debug + 'static {
    /// Stream prefix in the log: `workspace` in `workspace/acme`.
    const STREAM: &'static str;
    /// Kinds of documents that are found by their text.
    const SEARCHED_KINDS: &'static [&'static str] = &[];
    /// Typed name of a document.
    type Key: Ord + Clone + Debug + Send + Sync;
    /// A current-state document.
    type Document: Clone + PartialEq + Debug + Send + Sync + 'static;
    /// A fact, in the past tense, with everything replay needs.
    type Event: Clone + PartialEq + Debug + Serialize + DeserializeOwned + Send + Sync;
    /// What applying an event returns to the decision that emitted it; `()` in most rooms.
    type Applied;
    type Command: Debug + Send;
    /// Why a rule rejected a command, with the facts.
    type Rejection: Clone + PartialEq + Debug + Send;

    /// What lists show of a document, stored next to it so that a list need not read the whole
    /// document. Rooms without such lists use `()`.
    type Brief: Clone + PartialEq + Debug + Compact + Send + Sync;
    /// A test of documents that no column covers.
    type Filter: Ord + Clone + Debug + Send + Sync;

    /// How the key is written in the store.
    fn address(key: &Self::Key) -> Address;
    /// Parses an address of this room.
    fn key(address: &Address) -> Option<Self::Key>;
    /// The document's text in the store.
    fn encode(document: &Self::Document) -> serde_json::Result<String>;
    /// How many pieces that text has, which the store writes one by one.
    fn pieces(_document: &Self::Document) -> usize {
        1
    }
    /// The pieces, joined what [`Self::encode`] returns; `None` for those that are the same as
    /// before.
    fn encode_pieces(
        document: &Self::Document,
        _before: Option<&Self::Document>,
    ) -> serde_json::Result<Vec<Option<String>>> {
        Ok(vec![Some(Self::encode(document)?)])
    }
    /// Decodes a document from its stored form.
    fn decode(key: &Self::Key, body: &str) -> serde_json::Result<Self::Document>;
    /// The columns that lists filter and sort by.
    fn index(document: &Self::Document) -> Index;
    /// The brief of a document, if its kind has one.
    fn brief(_document: &Self::Document) -> Option<Self::Brief> {
        None
    }
    /// The fields that a document is found by, if its kind is one of [`Self::SEARCHED_KINDS`].
    fn searched(_document: &Self::Document) -> Vec<Cow<'_, str>> {
        Vec::new()
    }
    /// What a document's searched fields must contain to pass a filter.
    fn sought(_filter: &Self::Filter) -> Option<TextCondition<'_>> {
        None
    }
    /// Whether a document passes a filter.
    fn admits(filter: &Self::Filter, document: &Self::Document) -> bool;
    /// The event's name in the log.
    fn event_type(event: &Self::Event) -> &str;
    /// What lists of events show of it besides its position, as text that is stored with it; `None`
    /// in rooms whose lists show events otherwise.
    fn fact(_event: &Self::Event) -> Option<String> {
        None
    }
    /// An event as lists show it; `None` if the fact is not what [`Self::fact`] writes.
    fn listed(_stamp: &EventStamp<'_>, _fact: &str) -> Option<Json> {
        None
    }
    /// Whether events of this name may have strings that they are found by; the others need not be
    /// read for that.
    fn has_strings(_kind: &str) -> bool {
        false
    }
    /// The strings that an event is found by. What they belong to is looked up when it is found,
    /// and may have changed.
    fn strings(_event: &Self::Event) -> Option<EventStrings<'_>> {
        None
    }
    /// Which entity the event is about; `None` keeps it out of every event list.
    fn subject(event: &Self::Event) -> Option<Subject>;
    /// Whether the event is the last of its stream: then the store keeps it and the documents that
    /// were changed with it, and deletes everything before.
    fn ends(_event: &Self::Event) -> bool {
        false
    }
    /// Rewrites every reference to the position of another event, for a move to another log.
    fn relocate(event: &mut Self::Event, place: &mut dyn FnMut(u64) -> u64);
    /// Marks an event that comes from outside of this store, where it cannot prove anything.
    fn import(_event: &mut Self::Event) {}
    /// Emits the events of the command for the documents of the draft, or returns the rule that
    /// rejects it.
    fn decide(
        draft: &mut Draft<'_, Self>,
        command: &Self::Command,
    ) -> Result<(), WorkRefusal<Self>>;
    /// Applies one fact to the documents, and its intent if it has one.
    fn evolve(
        documents: &mut Documents<Self>,
        event: &Recorded<Self::Event>,
    ) -> Result<Self::Applied, Unloaded<Self>>;
    /// Applies the intent of an event that is applied already: a draft learns only at the end of a
    /// call which of its events head an operation.
    fn evolve_intent(
        _documents: &mut Documents<Self>,
        _event: &Recorded<Self::Event>,
    ) -> Result<(), Unloaded<Self>> {
        Ok(())
    }
}

/// The world as values: what a decision may know besides the documents.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Env {
    /// The moment of the call.
    pub now: Timestamp,
    pub call: CallFacts,
}

/// What is known about the caller.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct CallFacts {
    /// Who makes the call.
    pub by: Option<Arc<Author>>,
    /// The connection it comes from; calls without one are told apart by their author.
    pub connection: Option<ConnectionId>,
    /// The files of the project, if the call has looked at them.
    pub files: Option<Arc<ProjectFiles>>,
}

impl CallFacts {
    /// Whether a person makes the call.
    pub fn is_person(&self) -> bool {
        self.by.as_ref().is_some_and(|by| by.is_person())
    }

    /// Whether the caller is the one that this author and this connection stand for.
    pub fn comes_from(&self, by: Option<&Author>, connection: Option<&ConnectionId>) -> bool {
        match (&self.connection, connection) {
            (Some(mine), Some(other)) => mine == other,
            (None, None) => self.by.as_deref() == by,
            (Some(_), None) | (None, Some(_)) => false,
        }
    }
}

impl Env {
    /// A call at a moment about whose caller nothing is known.
    pub fn at(now: Timestamp) -> Self {
        Self { now, call: CallFacts::default() }
    }
}

/// The head of the log: store-wide position and sequence number in one stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct LogPosition {
    /// Number of the newest event of the whole store.
    pub global: u64,
    /// Number of the newest event of the stream.
    pub seq: u64,
}

/// An event with its place in the log.
#[derive(Clone, Debug, PartialEq)]
pub struct Recorded<E> {
    /// Store-wide position, strictly increasing in commit order.
    pub global: u64,
    /// Gapless number inside the stream.
    pub seq: u64,
    /// When it was accepted.
    pub at: Timestamp,
    /// Who did it; unknown for events of older versions.
    pub by: Option<Arc<Author>>,
    /// What the caller asked for, on the first event of an operation that has no document.
    pub intent: Option<Arc<str>>,
    /// The fact itself.
    pub event: E,
}

/// What lists show of an event besides its fact.
#[derive(Clone, Copy, Debug)]
pub struct EventStamp<'a> {
    /// Store-wide position.
    pub global: u64,
    pub at: Timestamp,
    /// The author as JSON.
    pub by: Option<&'a str>,
}

/// A document's place in the store: kind and name inside its stream.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Address {
    /// Kind of document, for example `task`.
    pub kind: Cow<'static, str>,
    /// Name inside the kind, for example `TASK-001`.
    pub name: String,
}

/// The few columns of a document that lists filter and sort by.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Index {
    pub ord: u64,
    /// Name of the containing document, empty at the top.
    pub parent: String,
    /// Status as text, empty where there is none.
    pub status: Cow<'static, str>,
    /// Urgency, lowest first; `None` keeps the document out of ranked lists.
    pub rank: Option<u32>,
    /// Bit set of [`Mark`]s.
    pub marks: u8,
}

/// A boolean property that lists can filter by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Mark {
    /// This document's work is blocked.
    Blocked = 1,
    Unconfirmed = 2,
    /// Found in lists of its whole kind; without it only in those of its parent.
    Listed = 4,
    /// Found in the list of its kind over all streams.
    Catalogued = 8,
}

/// What an event is about, for the timelines of one entity and of its container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subject {
    /// The entity itself, for example `TASK-001`.
    pub entity: String,
    /// The container whose timeline shows it too, for example `PLAN-001`.
    pub scope: String,
}

/// Why work was not done.
#[derive(Clone, Debug, PartialEq)]
pub enum WorkRefusal<A: Aggregate> {
    /// A rule rejected the command.
    Rejected(Box<A::Rejection>),
    /// Something must be loaded before the look-up can return.
    Unloaded(Box<Need<A>>),
}

impl<A: Aggregate> WorkRefusal<A> {
    pub fn rejected(rejection: A::Rejection) -> Self {
        Self::Rejected(Box::new(rejection))
    }
}

impl<A: Aggregate> From<Unloaded<A>> for WorkRefusal<A> {
    fn from(Unloaded(need): Unloaded<A>) -> Self {
        Self::Unloaded(need)
    }
}
