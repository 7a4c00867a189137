//! Replays the log and compares the result with the documents in the store. Changes nothing.

use std::collections::BTreeMap;

use muster_core::{Address, Aggregate, Compact as _, Recorded, Replay, Subject};
use muster_store::{Damage, DocumentRow, EventRow, Store, StoreError, StoreSnapshot};

use crate::{load, rows, survey};

const PAGE_EVENTS: u32 = 2_000;

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DoctorReport {
    pub streams: u64,
    pub events: u64,
    pub documents: u64,
    pub damage: Vec<Damage>,
}

impl DoctorReport {
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
    snapshot: &mut dyn StoreSnapshot,
    stream: &str,
    report: &mut DoctorReport,
) -> Result<(), StoreError> {
    let mut past = Past::<A> { replay: Replay::default(), positions: Vec::new() };
    let mut after = 0;
    loop {
        let rows = snapshot.tail(stream, after, PAGE_EVENTS)?;
        let Some(last) = rows.last() else { break };
        after = last.seq;
        for row in &rows {
            match load::recorded::<A>(stream, row) {
                Ok(event) => {
                    compare_event::<A>(stream, row, &event, report);
                    past.replay.apply(&event);
                    past.positions.push(row.global);
                }
                Err(error) => {
                    report.damage.push(found(stream, error.to_string()));
                    return Ok(());
                }
            }
        }
        report.events += rows.len() as u64;
    }
    past.compare(stream, snapshot.documents(stream)?, report);
    compare_briefs::<A>(stream, &past.replay, snapshot, report)?;
    compare_searched::<A>(stream, &past.replay, snapshot, report)
}

/// The index columns of an event must match its body.
fn compare_event<A: Aggregate>(
    stream: &str,
    row: &EventRow,
    event: &Recorded<A::Event>,
    report: &mut DoctorReport,
) {
    let place = format!("{stream} event {}", row.seq);
    let kind = A::event_type(&event.event);
    if row.kind != kind {
        report.damage.push(found(&place, format!("its kind is {}, should be {kind}", row.kind)));
    }
    let subject = A::subject(&event.event);
    if row.subject != subject {
        let [stored, expected] = [row.subject.as_ref(), subject.as_ref()].map(subject_words);
        let finding = format!("its subject is {stored}, should be {expected}");
        report.damage.push(found(&place, finding));
    }
    if row.shown.is_some() && row.shown != A::fact(&event.event) {
        report.damage.push(found(&place, "it is shown otherwise".to_owned()));
    }
}

/// The result of replaying a stream, and the positions of its events.
struct Past<A: Aggregate> {
    replay: Replay<A>,
    positions: Vec<u64>,
}

impl<A: Aggregate> Past<A> {
    fn compare(&self, stream: &str, rows: Vec<DocumentRow>, report: &mut DoctorReport) {
        let mut stored: BTreeMap<Address, DocumentRow> =
            rows.into_iter().map(|row| (row.address.clone(), row)).collect();
        for (key, document) in self.replay.documents() {
            report.documents += 1;
            let address = A::address(key);
            let place = format!("{stream} {} {}", address.kind, address.name);
            let finding = match stored.remove(&address) {
                None => Some("the log has it, the documents do not".to_owned()),
                Some(row) => self.difference(key, document, &row),
            };
            report.damage.extend(finding.map(|finding| found(&place, finding)));
        }
        for address in stored.keys() {
            let place = format!("{stream} {} {}", address.kind, address.name);
            report.damage.push(found(&place, "the documents have it, the log does not".to_owned()));
        }
    }

    /// How a stored document differs from the replayed one.
    fn difference(
        &self,
        key: &A::Key,
        document: &A::Document,
        row: &DocumentRow,
    ) -> Option<String> {
        let expected = rows::document_row::<A>(key, document, row.version);
        // Another version may have written the same document in other words.
        let is_same = || A::decode(key, &row.body).is_ok_and(|stored| stored == *document);
        if expected.body != row.body && !is_same() {
            return Some(format!("the log adds up to {}, stored is {}", expected.body, row.body));
        }
        if expected.index != row.index {
            return Some("lists find it by other columns than those of its content".to_owned());
        }
        // A version is the last event of the write that changed the document, which may be later
        // than the event that changed it.
        let version = row.version;
        let changed = self.replay.changed(key);
        let possible = version >= changed && self.positions.binary_search(&version).is_ok();
        (!possible).then(|| format!("its version is {version}, the log changed it at {changed}"))
    }
}

/// A missing brief is computed when it is needed; a stored one must be right.
fn compare_briefs<A: Aggregate>(
    stream: &str,
    replay: &Replay<A>,
    snapshot: &mut dyn StoreSnapshot,
    report: &mut DoctorReport,
) -> Result<(), StoreError> {
    for (key, document) in replay.documents() {
        let Some(brief) = A::brief(document) else { continue };
        let address = A::address(key);
        let Some(kept) = snapshot.brief(stream, &address)? else { continue };
        let expected = brief.write();
        if kept != expected && !brief.earlier_forms().contains(&kept) {
            let place = format!("{stream} {} {}", address.kind, address.name);
            report.damage.push(found(&place, format!("its brief is {kept}, should be {expected}")));
        }
    }
    Ok(())
}

/// Once the index of searches is complete, every document must be found by what it says.
fn compare_searched<A: Aggregate>(
    stream: &str,
    replay: &Replay<A>,
    snapshot: &mut dyn StoreSnapshot,
    report: &mut DoctorReport,
) -> Result<(), StoreError> {
    if A::SEARCHED_KINDS.is_empty() || !snapshot.is_searchable()? {
        return Ok(());
    }
    for (key, document) in replay.documents() {
        let address = A::address(key);
        let Some(expected) = survey::expected::<A>(document) else { continue };
        let kept = snapshot.searched(stream, &address)?;
        if kept.as_ref() != Some(&expected) {
            let place = format!("{stream} {} {}", address.kind, address.name);
            let finding = "a search does not find it by what it says; \
                           muster doctor --reindex repairs that";
            report.damage.push(found(&place, finding.to_owned()));
        }
    }
    Ok(())
}

fn subject_words(subject: Option<&Subject>) -> String {
    match subject {
        Some(Subject { entity, scope }) => format!("{entity} of {scope}"),
        None => "none".to_owned(),
    }
}

fn found(place: &str, finding: String) -> Damage {
    Damage { place: place.to_owned(), finding }
}
