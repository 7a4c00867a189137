//! Moves a stream from one store to another, event by event.
//!
//! Outside a store an event is identified only by its number in the stream, and so is every event
//! that it refers to. The target store assigns new, gapless positions; so event ids (their
//! positions) change, and every reference to one is rewritten.

use std::{
    collections::BTreeSet,
    io,
    sync::{Arc, mpsc::SyncSender},
};

use muster_core::{Address, Aggregate, Author, LogPosition, Recorded, Replay, Timestamp};
use muster_store::{Append, DocumentChange, Store, StoreError, Transaction};
use serde::{Deserialize, Serialize};

use crate::{
    load, rows,
    writer::{JobClaim, WriterJob},
};

const PAGE_EVENTS: u32 = 2_000;

#[derive(Debug, thiserror::Error)]
pub enum TransferError {
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The lines could not be written.
    #[error(transparent)]
    Output(#[from] io::Error),
    /// The stream is not empty.
    #[error("{stream} holds {events} events already: only an empty one can be imported into")]
    NotEmpty {
        stream: String,
        /// How many events it has.
        events: u64,
    },
    /// The stream was deleted, and its events with it.
    #[error("{stream} has ended: nothing is left of it to export")]
    Ended { stream: String },
    /// A line is not valid here.
    #[error("line {line}: {finding}")]
    Line {
        /// Its number, from 1.
        line: u64,
        /// What is wrong with it.
        finding: String,
    },
}

/// An event outside a store.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry<E> {
    /// Number in the stream; other events are named by it.
    seq: u64,
    /// When it was accepted, in Unix milliseconds.
    at_ms: Timestamp,
    /// Who did it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    by: Option<Author>,
    /// What its caller asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    intent: Option<Arc<str>>,
    event: E,
}

/// Writes every event of a stream as one line of JSON; returns how many there are.
///
/// The same stream always gives the same lines, and later events only add lines.
pub fn export<A: Aggregate>(
    store: &dyn Store,
    stream: &str,
    write: &mut dyn FnMut(&str) -> io::Result<()>,
) -> Result<u64, TransferError> {
    let mut snapshot = store.snapshot()?;
    if snapshot.streams(stream)?.iter().any(|row| row.name == stream && row.ended) {
        return Err(TransferError::Ended { stream: stream.to_owned() });
    }
    let mut positions: Vec<u64> = Vec::new();
    loop {
        let rows = snapshot.tail(stream, positions.len() as u64, PAGE_EVENTS)?;
        if rows.is_empty() {
            return Ok(positions.len() as u64);
        }
        for row in &rows {
            positions.push(row.global);
            let Recorded { seq, at, by, intent, mut event, .. } = load::recorded::<A>(stream, row)?;
            let mut strangers = BTreeSet::new();
            A::relocate(&mut event, &mut |position| {
                number_of(&positions, position).unwrap_or_else(|| {
                    strangers.insert(position);
                    position
                })
            });
            if !strangers.is_empty() {
                let place = format!("{stream} event {seq}");
                let finding = format!("it names positions {strangers:?}, which are not before it");
                return Err(StoreError::Damaged { place, finding }.into());
            }
            let by = by.map(Arc::unwrap_or_clone);
            let entry = Entry { seq, at_ms: at, by, intent, event };
            let line = serde_json::to_string(&entry)
                .unwrap_or_else(|error| unreachable!("domain types are plain JSON: {error}"));
            write(&line)?;
        }
    }
}

/// The number in the stream of the event at a position; zero means none.
fn number_of(positions: &[u64], position: u64) -> Option<u64> {
    if position == 0 {
        return Some(0);
    }
    positions.binary_search(&position).ok().map(|at| at as u64 + 1)
}

/// Events to be imported.
pub(crate) struct Load<A: Aggregate> {
    entries: Vec<Entry<A::Event>>,
    /// How many of them the stream has already.
    after: u64,
}

impl<A: Aggregate> Load<A> {
    /// Reads lines that [`export`] wrote.
    pub(crate) fn parse<'a>(lines: impl Iterator<Item = &'a str>) -> Result<Self, TransferError> {
        let mut entries: Vec<Entry<A::Event>> = Vec::new();
        for (line, text) in (1_u64..).zip(lines) {
            let bad = |finding| TransferError::Line { line, finding };
            let entry: Entry<A::Event> =
                serde_json::from_str(text).map_err(|error| bad(error.to_string()))?;
            if entry.seq != line {
                return Err(bad(format!("it holds event {}, expected is {line}", entry.seq)));
            }
            let mut strange = false;
            A::relocate(&mut entry.event.clone(), &mut |number| {
                strange |= number > line;
                number
            });
            if strange {
                return Err(bad("it names an event that is not before it".to_owned()));
            }
            entries.push(entry);
        }
        Ok(Self { entries, after: 0 })
    }

    /// Marks the events as those of another store.
    pub(crate) fn marked_as_imported(mut self) -> Self {
        self.entries.iter_mut().for_each(|entry| A::import(&mut entry.event));
        self
    }

    /// Skips the first `after` events, which the stream already has.
    pub(crate) fn after(self, after: u64) -> Self {
        Self { after, ..self }
    }

    /// The events at their existing positions, or at those that follow the log's head.
    fn placed(&self, head: LogPosition, known: &[u64]) -> Vec<Recorded<A::Event>> {
        let place = |number: u64| match usize::try_from(number).unwrap_or(usize::MAX) {
            0 => 0,
            at if at <= known.len() => known[at - 1],
            _ => head.global + number - self.after,
        };
        let placed = |entry: &Entry<A::Event>| {
            let mut event = entry.event.clone();
            A::relocate(&mut event, &mut |number| place(number));
            let by = entry.by.clone().map(Arc::new);
            Recorded {
                global: place(entry.seq),
                seq: entry.seq,
                at: entry.at_ms,
                by,
                intent: entry.intent.clone(),
                event,
            }
        };
        self.entries.iter().map(placed).collect()
    }

    /// Appends the missing events; returns how many there were.
    fn store(
        &self,
        stream: &str,
        transaction: &mut dyn Transaction,
    ) -> Result<Result<u64, TransferError>, StoreError> {
        let head = transaction.head(stream)?;
        if head.seq != self.after {
            let stream = stream.to_owned();
            let events = head.seq;
            return Ok(Err(TransferError::NotEmpty { stream, events }));
        }
        let known = positions(transaction, stream, self.after)?;
        let events = self.placed(head, &known);
        let mut replay = Replay::<A>::default();
        events.iter().for_each(|event| replay.apply(event));
        let fresh = &events[known.len().min(events.len())..];
        let version = head.global + fresh.len() as u64;
        let mut documents: Vec<DocumentChange> = replay
            .documents()
            .map(|(key, document)| rows::put::<A>(key, document, version))
            .collect();
        let mut gone: BTreeSet<Address> =
            transaction.documents(stream)?.into_iter().map(|row| row.address).collect();
        for change in &documents {
            if let DocumentChange::Put(row, _) = change {
                gone.remove(&row.address);
            }
        }
        documents.extend(gone.into_iter().map(DocumentChange::Remove));
        let found_by = replay
            .documents()
            .filter_map(|(key, document)| rows::search::<A>(key, &A::searched(document)));
        documents.extend(found_by);
        let rows = rows::event_rows::<A>(fresh);
        transaction.append(&Append { stream, events: &rows, documents: &documents })?;
        Ok(Ok(fresh.len() as u64))
    }
}

/// The positions of the first events of a stream.
fn positions(
    transaction: &mut dyn Transaction,
    stream: &str,
    count: u64,
) -> Result<Vec<u64>, StoreError> {
    let mut positions: Vec<u64> = Vec::new();
    while (positions.len() as u64) < count {
        let rows = transaction.tail(stream, positions.len() as u64, PAGE_EVENTS)?;
        if rows.is_empty() {
            break;
        }
        positions.extend(rows.iter().map(|row| row.global));
    }
    Ok(positions)
}

/// A load on its way through the writer.
pub(crate) struct ImportJob<A: Aggregate> {
    pub(crate) stream: String,
    pub(crate) load: Load<A>,
    pub(crate) claim: JobClaim,
    pub(crate) outcome: Option<Result<u64, TransferError>>,
    pub(crate) reply: SyncSender<Result<u64, TransferError>>,
}

impl<A: Aggregate> WriterJob for ImportJob<A> {
    fn claim(&self) -> bool {
        self.claim.start()
    }

    fn run(&mut self, transaction: &mut dyn Transaction) -> Result<(), StoreError> {
        self.outcome = Some(self.load.store(&self.stream, transaction)?);
        Ok(())
    }

    fn reset(&mut self) -> bool {
        self.outcome = None;
        true
    }

    fn conclude(self: Box<Self>, committed: Result<(), StoreError>) {
        let answer = match (committed, self.outcome) {
            (Ok(()), Some(outcome)) => outcome,
            (Ok(()), None) => return,
            (Err(error), _) => Err(error.into()),
        };
        if self.reply.send(answer).is_err() {
            tracing::debug!(stream = self.stream, "import finished after its caller had gone");
        }
    }
}
