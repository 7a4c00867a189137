//! The event log and the current-state documents.
//!
//! This is the only crate with SQL in it. It knows streams, events, documents and the columns that
//! lists filter by; it does not know what any of them mean. Bodies are text that the caller
//! encoded.
//!
//! What is deliberately not here: decisions, retries of business work, a thread that writes. The
//! one writer per process and the grouping of commits live in the engine, which drives
//! [`Store::begin`].

mod database;
mod delegate;
mod error;
mod kanban;
mod memory;
mod position;
mod postgres;
mod prefix;
mod search;
mod sqlite;
#[cfg(test)]
mod stories;

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use muster_core::{Address, EventQuery, Index, ListQuery, LogPosition, Subject, Timestamp};

pub use database::{DatabaseUrl, PostgresAddress, open};
pub use error::StoreError;
pub use kanban::{KanbanError, is_sqlite, read_kanban};
pub use memory::MemoryStore;
pub use postgres::PostgresStore;
pub use search::{
    EventEntries, FoundDocument, LogCursor, LogEnd, LogPlace, StreamEvent, StringsQuery,
    TextMatches,
};
pub use sqlite::{SCHEMA_VERSION, SqliteOptions, SqliteStore, StoreAccess, Synchronous};

/// A place that keeps the log and the documents.
pub trait Store: Send + Sync + 'static {
    /// Starts a write transaction. Whoever reads from a stream in it is the only one who writes to
    /// that stream until it ends; waiting for that, here or at the read, has a bound.
    ///
    /// The engine's writer holds at most one transaction at a time.
    fn begin(&self) -> Result<Box<dyn Transaction + '_>, StoreError>;

    /// Whether no write is active at this moment, so that [`Self::begin`] is unlikely to wait.
    fn is_free(&self) -> bool;

    /// A consistent snapshot for reading, unaffected by commits after its first read.
    fn snapshot(&self) -> Result<Box<dyn StoreSnapshot + '_>, StoreError>;

    /// The same for one short read, by the cheapest means. The holder must not begin a transaction
    /// meanwhile: this may be the write connection.
    fn glance(&self) -> Result<Box<dyn StoreSnapshot + '_>, StoreError> {
        self.snapshot()
    }

    /// How many events were ever committed, by any process. Cheap enough to poll: it rises with
    /// every commit that has events. With [`Numbering::OneLog`] it is the position of the newest.
    fn position(&self) -> Result<u64, StoreError>;

    /// Fails when a file of the store was removed or replaced since it was opened: writes to it
    /// would be lost. Cheap enough to call often.
    fn confirm_in_place(&self) -> Result<(), StoreError> {
        Ok(())
    }

    /// Housekeeping for an idle moment, such as a checkpoint of the write-ahead log.
    fn rest(&self) -> Result<(), StoreError>;

    /// Unused bytes of the file, which the store fills before it grows.
    fn spare_bytes(&self) -> Result<u64, StoreError> {
        Ok(0)
    }

    /// Returns those to the disk. Others can read meanwhile, but writes wait.
    fn compact(&self) -> Result<(), StoreError> {
        Ok(())
    }

    /// Copies the whole store to a new file while it stays in use.
    fn backup(&self, target: &Path) -> Result<(), StoreError>;

    /// Looks for damage below the level of documents; changes nothing.
    fn check(&self) -> Result<Vec<Damage>, StoreError>;

    /// Description of this store, for people.
    fn describe(&self) -> Description;
}

/// Reads from one snapshot.
pub trait StoreSnapshot {
    /// How events get their positions here.
    fn numbering(&self) -> Numbering;

    /// The number of a stream's newest event, and the position that its next event follows; zero
    /// where nothing was written.
    fn head(&mut self, stream: &str) -> Result<LogPosition, StoreError>;

    /// All streams with their heads, by name; `prefix` selects a kind such as `workspace/`.
    fn streams(&mut self, prefix: &str) -> Result<Vec<StreamRow>, StoreError>;

    fn document(
        &mut self,
        stream: &str,
        address: &Address,
    ) -> Result<Option<DocumentRow>, StoreError>;

    /// Documents by address, in this order. What the caller holds already is not read again.
    fn fetch(
        &mut self,
        stream: &str,
        wanted: &[WantedDocument],
    ) -> Result<Vec<FetchedDocument>, StoreError> {
        let mut fetched = Vec::with_capacity(wanted.len());
        for WantedDocument { address, held } in wanted {
            let is_held = held.is_some() && self.version(stream, address)? == *held;
            fetched.push(match is_held {
                true => FetchedDocument::Unchanged,
                false => match self.document(stream, address)? {
                    Some(row) => FetchedDocument::Row(row),
                    None => FetchedDocument::Absent,
                },
            });
        }
        Ok(fetched)
    }

    /// The version of one document, without its body.
    fn version(&mut self, stream: &str, address: &Address) -> Result<Option<u64>, StoreError>;

    fn list(&mut self, stream: &str, query: &ListQuery) -> Result<Vec<DocumentRow>, StoreError>;

    /// The briefs of the documents of a list; `None` if one of them has none.
    fn briefs(
        &mut self,
        stream: &str,
        query: &ListQuery,
    ) -> Result<Option<Vec<Arc<str>>>, StoreError>;

    /// The brief of one document, if it has one.
    fn brief(&mut self, stream: &str, address: &Address) -> Result<Option<String>, StoreError>;

    /// Documents of a list that are found by a string: counted all, and as a page what the list's
    /// bound and limit leave. `None` if the index of this store is not complete.
    fn search(
        &mut self,
        stream: &str,
        query: &ListQuery,
        text: &str,
    ) -> Result<Option<TextMatches>, StoreError>;

    /// What a document is found by.
    fn searched(&mut self, stream: &str, address: &Address) -> Result<Option<String>, StoreError>;

    /// Whether every document is in the index of searches.
    fn is_searchable(&mut self) -> Result<bool, StoreError>;

    /// Documents of all streams that are found by all of these strings, the newest first. `None` if
    /// the index of this store is not complete.
    fn documents_with(
        &mut self,
        query: &StringsQuery<'_>,
    ) -> Result<Option<Vec<FoundDocument>>, StoreError>;

    /// Events that may say all of these strings, among those that are indexed.
    fn events_with(&mut self, query: &StringsQuery<'_>) -> Result<Vec<LogPlace>, StoreError>;

    /// At least how many events [`Self::events_with`] does not know yet; zero only if it knows all.
    fn unindexed_count(&mut self) -> Result<u64, StoreError>;

    /// Such events of all streams, at most `limit`; those of a stream in their order.
    fn unindexed(&mut self, end: LogEnd, limit: u32) -> Result<Vec<StreamEvent>, StoreError>;

    /// Events of all streams after a cursor, in an order in which none is ever added before one
    /// that was read; those of a stream in their order. Each has the cursor that follows it.
    fn log(
        &mut self,
        after: LogCursor,
        limit: u32,
    ) -> Result<Vec<(LogCursor, StreamEvent)>, StoreError>;

    /// The same list as addresses and versions, without the bodies.
    fn list_versions(
        &mut self,
        stream: &str,
        query: &ListQuery,
    ) -> Result<Vec<(Address, u64)>, StoreError>;

    /// Documents of all streams that are [`muster_core::Mark::Catalogued`], each with its stream;
    /// the highest sort number first.
    fn catalogue(
        &mut self,
        query: &CatalogueQuery,
    ) -> Result<Vec<(String, DocumentRow)>, StoreError>;

    /// Every document of a stream, by kind and name.
    fn documents(&mut self, stream: &str) -> Result<Vec<DocumentRow>, StoreError>;

    /// A slice of a stream's events that have a subject.
    fn events(&mut self, stream: &str, query: &EventQuery) -> Result<Vec<EventRow>, StoreError>;

    /// The same slice in its shown form; `None` if one of the events was written without it.
    fn shown(
        &mut self,
        stream: &str,
        query: &EventQuery,
    ) -> Result<Option<Vec<ShownRow>>, StoreError>;

    /// The tail of a stream: every event with a higher `seq`, oldest first, at most `limit`.
    fn tail(&mut self, stream: &str, after: u64, limit: u32) -> Result<Vec<EventRow>, StoreError>;
}

/// How events get their positions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Numbering {
    #[default]
    /// One log: positions count the events of all streams, in commit order.
    OneLog,
    /// Every stream for itself: the position of an event is its number in its stream.
    PerStream,
}

/// A write transaction. Dropping it rolls it back.
pub trait Transaction: StoreSnapshot {
    /// Appends events to a stream and writes the documents they changed.
    ///
    /// The events' positions must continue the log; anything else is rejected as damage.
    fn append(&mut self, append: &Append<'_>) -> Result<(), StoreError>;

    /// How many pieces the body of a document is stored in; zero if there is none.
    fn pieces(&mut self, stream: &str, address: &Address) -> Result<usize, StoreError>;

    /// Appends the last events of a stream, at least one, and removes everything that was in it
    /// before: events and documents. The stream keeps its head and its last events, and accepts
    /// nothing more, so that its name is never reused.
    fn end(&mut self, last: &Append<'_>) -> Result<(), StoreError>;

    /// Builds the index of searches from what every document is found by, and marks it as complete.
    /// Until then searches use no index.
    fn rebuild_search(&mut self) -> Result<(), StoreError>;

    /// Adds what events are found by. Those that are indexed already stay as they are.
    fn index_events(&mut self, entries: &EventEntries<'_>) -> Result<(), StoreError>;

    /// Forgets what events are found by; the index starts again with the first event.
    fn clear_event_index(&mut self) -> Result<(), StoreError>;

    /// Makes everything durable. After an error nothing of it counts, and the store has to be read
    /// again.
    fn commit(self: Box<Self>) -> Result<(), StoreError>;
}

/// One stream's part of a transaction.
#[derive(Debug)]
pub struct Append<'a> {
    /// Stream that the events belong to.
    pub stream: &'a str,
    /// New events, in order.
    pub events: &'a [EventRow],
    pub documents: &'a [DocumentChange],
}

/// An event as the log keeps it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventRow {
    /// Its position, as the store's [`Numbering`] says.
    pub global: u64,
    /// Number in its stream.
    pub seq: u64,
    /// When it was accepted.
    pub at: Timestamp,
    /// Name of the event.
    pub kind: String,
    /// What it is about; `None` keeps it out of event lists.
    pub subject: Option<Subject>,
    /// Encoded event.
    pub body: String,
    /// What lists show of it.
    pub shown: Option<String>,
    /// Who did it, encoded.
    pub by: Option<String>,
    /// What the caller asked for, on the first event of an operation.
    pub intent: Option<String>,
}

/// An event as lists show it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShownRow {
    /// Its position.
    pub global: u64,
    /// When it was accepted.
    pub at: Timestamp,
    /// What lists show of it.
    pub shown: String,
    /// Who did it, encoded.
    pub by: Option<String>,
}

/// A document as the store keeps it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DocumentRow {
    pub address: Address,
    /// Columns that lists use.
    pub index: Index,
    /// Position of the event that changed it last.
    pub version: u64,
    /// Encoded document.
    pub body: String,
}

/// A document that a caller needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WantedDocument {
    pub address: Address,
    /// The version that the caller has, if any.
    pub held: Option<u64>,
}

/// What became of a [`WantedDocument`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FetchedDocument {
    Absent,
    /// It has the version that the caller holds.
    Unchanged,
    Row(DocumentRow),
}

/// A page of the documents of one kind over all streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CatalogueQuery {
    pub kind: &'static str,
    /// Only documents with a lower sort number.
    pub below: Option<u64>,
    /// At most this many; `None` means all.
    pub limit: Option<u32>,
}

/// A document to write or to remove.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DocumentChange {
    /// Insert or replace, together with what lists show of it.
    Put(DocumentRow, Option<String>),
    /// The same for a body in several pieces.
    PutPieces(DocumentPieces),
    /// Find an existing document by this string from now on.
    Search(Address, String),
    Remove(Address),
}

/// A document whose body is written in pieces, so that those that stay need not be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DocumentPieces {
    /// The document; its body is only the first piece.
    pub first: DocumentRow,
    /// The other pieces; `None` for one that is stored already. Only a document with as many
    /// pieces as [`Transaction::pieces`] says has such.
    pub rest: Vec<Option<String>>,
    /// What lists show of it.
    pub brief: Option<String>,
}

/// A stream and its head.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamRow {
    /// Name, for example `workspace/acme`.
    pub name: String,
    /// Number of its newest event.
    pub seq: u64,
    /// Whether it has ended: then only its last events are left.
    pub ended: bool,
}

/// Damage found by [`Store::check`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// Where: a stream, a table, a page.
    pub place: String,
    /// What is wrong there.
    pub finding: String,
}

/// What a store is, for status pages and `doctor`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Description {
    /// Engine and version, for example `SQLite 3.54.1`.
    pub engine: String,
    /// Place on disk or address, if any; without a password.
    pub location: Option<String>,
    /// Size on disk in bytes, if any.
    pub bytes: Option<u64>,
    pub schema_version: u32,
    /// Whether this program knows a newer layout, to which its next start migrates the store.
    pub is_older: bool,
    /// Copies made before an operation that cannot be undone.
    pub kept: Vec<PathBuf>,
}
