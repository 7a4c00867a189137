//! Between rows and documents: loads what pure work asks for, and turns its draft into rows.

use std::{collections::BTreeMap, sync::Arc};

use muster_core::{Aggregate, Documents, ListQuery, Need, Recorded, Refusal, Survey, Surveyed};
use muster_store::{DocumentChange, DocumentRow, EventRow, Snapshot, StoreError};

/// Rows read at once while a list is surveyed.
const SURVEY_ROWS: u32 = 500;

/// Runs a view until nothing is missing.
pub(crate) fn answer<A: Aggregate, T>(
    stream: &str,
    documents: &mut Documents<A>,
    snapshot: &mut dyn Snapshot,
    mut ask: impl FnMut(&mut Documents<A>) -> Result<T, Refusal<A>>,
) -> Result<Result<T, Box<A::Rejection>>, StoreError> {
    loop {
        match ask(documents) {
            Ok(value) => return Ok(Ok(value)),
            Err(Refusal::Rejected(rejection)) => return Ok(Err(rejection)),
            Err(Refusal::Unloaded(need)) => supply(stream, documents, snapshot, *need)?,
        }
    }
}

fn supply<A: Aggregate>(
    stream: &str,
    documents: &mut Documents<A>,
    snapshot: &mut dyn Snapshot,
    need: Need<A>,
) -> Result<(), StoreError> {
    match need {
        Need::Document(key) => {
            let row = snapshot.document(stream, &A::address(&key))?;
            let document = row.map(|row| decode::<A>(stream, &row)).transpose()?;
            documents.supply(key, document.map(|(_, document)| Arc::new(document)));
        }
        Need::List(query) => {
            let rows = snapshot.list(stream, &query)?;
            let keys = supply_rows(stream, documents, &rows)?;
            documents.supply_list(query, keys);
        }
        Need::Survey(survey) => {
            let surveyed = conduct(stream, documents, snapshot, &survey)?;
            documents.supply_survey(survey, surveyed);
        }
        Need::Events(query) => {
            let rows = snapshot.events(stream, &query)?;
            let events = rows.iter().map(|row| recorded::<A>(stream, row));
            documents.supply_events(query, events.collect::<Result<_, _>>()?);
        }
    }
    Ok(())
}

fn supply_rows<A: Aggregate>(
    stream: &str,
    documents: &mut Documents<A>,
    rows: &[DocumentRow],
) -> Result<Vec<A::Key>, StoreError> {
    let mut keys = Vec::with_capacity(rows.len());
    for row in rows {
        let (key, document) = decode::<A>(stream, row)?;
        documents.supply(key.clone(), Some(Arc::new(document)));
        keys.push(key);
    }
    Ok(keys)
}

/// Walks a whole list in pages, counts what passes the filter and keeps one page of it.
fn conduct<A: Aggregate>(
    stream: &str,
    documents: &mut Documents<A>,
    snapshot: &mut dyn Snapshot,
    survey: &Survey<A::Filter>,
) -> Result<Surveyed<A::Key>, StoreError> {
    let mut surveyed = Surveyed { counts: BTreeMap::new(), page: Vec::new() };
    let mut after = None;
    loop {
        let query = ListQuery { after, limit: Some(SURVEY_ROWS), ..survey.list.clone() };
        let rows = snapshot.list(stream, &query)?;
        for row in &rows {
            let (key, document) = decode::<A>(stream, row)?;
            if !A::admits(&survey.filter, &document) {
                continue;
            }
            *surveyed.counts.entry(row.index.status.to_string()).or_default() += 1;
            if row.index.ord > survey.after && surveyed.page.len() < survey.limit as usize {
                documents.supply(key.clone(), Some(Arc::new(document)));
                surveyed.page.push(key);
            }
        }
        match rows.last() {
            Some(last) => after = Some(last.index.ord),
            None => return Ok(surveyed),
        }
    }
}

fn decode<A: Aggregate>(
    stream: &str,
    row: &DocumentRow,
) -> Result<(A::Key, A::Document), StoreError> {
    let place = || format!("{stream} {} {}", row.address.kind, row.address.name);
    let Some(key) = A::key(&row.address) else {
        let finding = "a document of an unknown kind".to_owned();
        return Err(StoreError::Damaged { place: place(), finding });
    };
    match A::decode(&key, &row.body) {
        Ok(document) => Ok((key, document)),
        Err(error) => Err(StoreError::Damaged { place: place(), finding: error.to_string() }),
    }
}

/// The event that a row holds.
pub(crate) fn recorded<A: Aggregate>(
    stream: &str,
    row: &EventRow,
) -> Result<Recorded<A::Event>, StoreError> {
    match serde_json::from_str(&row.body) {
        Ok(event) => Ok(Recorded { global: row.global, seq: row.seq, at: row.at, event }),
        Err(error) => Err(StoreError::Damaged {
            place: format!("{stream} event {}", row.seq),
            finding: error.to_string(),
        }),
    }
}

/// The rows that a draft's events become.
pub(crate) fn event_rows<A: Aggregate>(events: &[Recorded<A::Event>]) -> Vec<EventRow> {
    let row = |recorded: &Recorded<A::Event>| EventRow {
        global: recorded.global,
        seq: recorded.seq,
        at: recorded.at,
        kind: A::event_type(&recorded.event).to_owned(),
        subject: A::subject(&recorded.event),
        body: encoded(serde_json::to_string(&recorded.event)),
    };
    events.iter().map(row).collect()
}

/// The rows that a draft's document changes become, as of a log position.
pub(crate) fn document_changes<A: Aggregate>(
    documents: &Documents<A>,
    version: u64,
) -> Vec<DocumentChange> {
    let change = |(key, document): (&A::Key, Option<&A::Document>)| match document {
        Some(document) => DocumentChange::Put(document_row::<A>(key, document, version)),
        None => DocumentChange::Remove(A::address(key)),
    };
    documents.changes().map(change).collect()
}

/// The row that a document is kept as.
pub(crate) fn document_row<A: Aggregate>(
    key: &A::Key,
    document: &A::Document,
    version: u64,
) -> DocumentRow {
    DocumentRow {
        address: A::address(key),
        index: A::index(document),
        version,
        body: encoded(A::encode(document)),
    }
}

fn encoded(text: serde_json::Result<String>) -> String {
    text.unwrap_or_else(|error| unreachable!("domain types are plain JSON: {error}"))
}
