//! Replays the log and compares what it adds up to with the documents in the store. Changes
//! nothing.

use std::collections::BTreeMap;

use muster_core::{Address, Aggregate, Replay};
use muster_store::{Damage, DocumentRow, Snapshot, Store, StoreError};

use crate::load;

/// Events read at once.
const PAGE_EVENTS: u32 = 2_000;

/// What was examined and what was found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Report {
    /// Streams examined.
    pub streams: u64,
    /// Events replayed.
    pub events: u64,
    /// Documents compared.
    pub documents: u64,
    /// Everything that is wrong.
    pub damage: Vec<Damage>,
}

impl Report {
    /// Checks the store's own structure.
    pub fn of(store: &dyn Store) -> Result<Self, StoreError> {
        Ok(Self { damage: store.check()?, ..Self::default() })
    }

    /// Examines every stream of one kind of aggregate.
    pub fn add<A: Aggregate>(&mut self, store: &dyn Store) -> Result<(), StoreError> {
        let mut snapshot = store.snapshot()?;
        for stream in snapshot.streams(&format!("{}/", A::STREAM))? {
            self.streams += 1;
            examine_stream::<A>(&mut *snapshot, &stream.name, self)?;
        }
        Ok(())
    }
}

fn examine_stream<A: Aggregate>(
    snapshot: &mut dyn Snapshot,
    stream: &str,
    report: &mut Report,
) -> Result<(), StoreError> {
    let mut replay = Replay::<A>::default();
    let mut after = 0;
    loop {
        let rows = snapshot.tail(stream, after, PAGE_EVENTS)?;
        let Some(last) = rows.last() else { break };
        after = last.seq;
        for row in &rows {
            match load::recorded::<A>(stream, row) {
                Ok(event) => {
                    if row.shown.is_some() && row.shown != A::fact(&event.event) {
                        let place = format!("{stream} event {}", row.seq);
                        report.damage.push(found(&place, "it is shown otherwise".to_owned()));
                    }
                    replay.apply(&event);
                }
                Err(error) => {
                    report.damage.push(found(stream, error.to_string()));
                    return Ok(());
                }
            }
        }
        report.events += rows.len() as u64;
    }
    compare::<A>(stream, &replay, snapshot.documents(stream)?, report);
    compare_briefs::<A>(stream, &replay, snapshot, report)
}

fn compare<A: Aggregate>(
    stream: &str,
    replay: &Replay<A>,
    rows: Vec<DocumentRow>,
    report: &mut Report,
) {
    let mut stored: BTreeMap<Address, DocumentRow> =
        rows.into_iter().map(|row| (row.address.clone(), row)).collect();
    for (key, document) in replay.documents() {
        report.documents += 1;
        let address = A::address(key);
        let place = format!("{stream} {} {}", address.kind, address.name);
        let Some(row) = stored.remove(&address) else {
            report.damage.push(found(&place, "the log has it, the documents do not".to_owned()));
            continue;
        };
        let expected = load::document_row::<A>(key, document, row.version);
        if expected.body != row.body {
            let finding = format!("the log adds up to {}, stored is {}", expected.body, row.body);
            report.damage.push(found(&place, finding));
        } else if expected.index != row.index {
            let finding = format!("columns are {:?}, should be {:?}", row.index, expected.index);
            report.damage.push(found(&place, finding));
        }
    }
    for address in stored.keys() {
        let place = format!("{stream} {} {}", address.kind, address.name);
        report.damage.push(found(&place, "the documents have it, the log does not".to_owned()));
    }
}

/// A brief that is not kept is worked out when it is needed; one that is kept must be right.
fn compare_briefs<A: Aggregate>(
    stream: &str,
    replay: &Replay<A>,
    snapshot: &mut dyn Snapshot,
    report: &mut Report,
) -> Result<(), StoreError> {
    for (key, document) in replay.documents() {
        let Some(expected) = load::brief::<A>(document) else { continue };
        let address = A::address(key);
        let Some(kept) = snapshot.brief(stream, &address)? else { continue };
        if kept != expected {
            let place = format!("{stream} {} {}", address.kind, address.name);
            report.damage.push(found(&place, format!("its brief is {kept}, should be {expected}")));
        }
    }
    Ok(())
}

fn found(place: &str, finding: String) -> Damage {
    Damage { place: place.to_owned(), finding }
}
