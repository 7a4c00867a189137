//! Between rows and documents: loads what pure work needs, and turns its draft into rows.

use std::sync::Arc;

use muster_core::{
    Address, Aggregate, Author, Compact as _, Documents, EventQuery, EventStamp, ListQuery, Need,
    Recorded, Shown, WorkRefusal,
};
use muster_store::{
    CatalogueQuery, DocumentRow, EventRow, FetchedDocument, ShownRow, StoreError, StoreSnapshot,
    WantedDocument,
};

use crate::{cache::Cache, survey};

/// Source of documents: one snapshot of a stream, and the cache.
pub(crate) struct DocumentSource<'a> {
    pub(crate) stream: &'a str,
    /// The moment.
    pub(crate) snapshot: &'a mut dyn StoreSnapshot,
    pub(crate) cache: &'a Cache,
    /// Whether the snapshot shows committed documents only, so that they may be cached.
    pub(crate) committed: bool,
}

/// Runs a view until nothing is missing.
pub(crate) fn answer<A: Aggregate, T>(
    source: &mut DocumentSource<'_>,
    documents: &mut Documents<A>,
    mut ask: impl FnMut(&mut Documents<A>) -> Result<T, WorkRefusal<A>>,
) -> Result<Result<T, Box<A::Rejection>>, StoreError> {
    let mut value = None;
    let rejected = until_loaded(source, documents, &mut |documents| {
        value = Some(ask(documents)?);
        Ok(())
    })?;
    match (rejected, value) {
        (Some(rejection), _) => Ok(Err(rejection)),
        (None, Some(value)) => Ok(Ok(value)),
        (None, None) => unreachable!("work that is not rejected has a value"),
    }
}

/// Work without a result; it may have kept one itself.
type ErasedAsk<'a, A> = dyn FnMut(&mut Documents<A>) -> Result<(), WorkRefusal<A>> + 'a;

/// The same for every type of result: compiled once for each room, not for each view.
fn until_loaded<A: Aggregate>(
    source: &mut DocumentSource<'_>,
    documents: &mut Documents<A>,
    ask: &mut ErasedAsk<'_, A>,
) -> Result<Option<Box<A::Rejection>>, StoreError> {
    loop {
        match ask(documents) {
            Ok(()) => return Ok(None),
            Err(WorkRefusal::Rejected(rejection)) => return Ok(Some(rejection)),
            Err(WorkRefusal::Unloaded(need)) => supply(source, documents, *need)?,
        }
    }
}

fn supply<A: Aggregate>(
    source: &mut DocumentSource<'_>,
    documents: &mut Documents<A>,
    need: Need<A>,
) -> Result<(), StoreError> {
    match need {
        Need::Document(key) => supply_documents(source, documents, vec![key])?,
        Need::Documents(keys) => supply_documents(source, documents, keys)?,
        Need::List(query) => {
            let keys = supply_list(source, documents, &query)?;
            documents.supply_list(query, keys);
        }
        Need::Lists(queries) => {
            for query in queries {
                supply(source, documents, Need::List(query))?;
            }
        }
        Need::Briefs(queries) => {
            for query in queries {
                let briefs = briefs::<A>(source, &query)?;
                documents.supply_briefs(query, briefs);
            }
        }
        Need::Survey(survey) => {
            let surveyed = survey::conduct(source, documents, &survey)?;
            documents.supply_survey(survey, surveyed);
        }
        Need::Events(query) => {
            let rows = source.snapshot.events(source.stream, &query)?;
            let events = rows.iter().map(|row| recorded::<A>(source.stream, row));
            documents.supply_events(query, events.collect::<Result<_, _>>()?);
        }
        Need::Shown(query) => {
            let shown = shown::<A>(source, &query)?;
            documents.supply_shown(query, shown);
        }
    }
    Ok(())
}

/// Loads documents together; those in the cache are only compared by version.
fn supply_documents<A: Aggregate>(
    source: &mut DocumentSource<'_>,
    documents: &mut Documents<A>,
    keys: Vec<A::Key>,
) -> Result<(), StoreError> {
    let mut wanted = Vec::with_capacity(keys.len());
    let mut known = Vec::with_capacity(keys.len());
    for key in &keys {
        let address = A::address(key);
        let newest = source.cache.newest::<A>(source.stream, &address);
        let held = newest.as_ref().map(|(version, _)| *version);
        wanted.push(WantedDocument { address, held });
        known.push(newest);
    }
    let fetched = source.snapshot.fetch(source.stream, &wanted)?;
    for ((key, known), fetched) in keys.into_iter().zip(known).zip(fetched) {
        let document = match fetched {
            FetchedDocument::Absent => None,
            FetchedDocument::Unchanged => known.map(|(_, document)| document),
            FetchedDocument::Row(row) => Some(source.decode::<A>(&row)?.1),
        };
        documents.supply(key, document);
    }
    Ok(())
}

impl DocumentSource<'_> {
    /// The document at this version: from the cache, or from the store.
    pub(crate) fn document<A: Aggregate>(
        &mut self,
        address: &Address,
        version: u64,
    ) -> Result<Option<Arc<A::Document>>, StoreError> {
        if let Some(document) = self.cache.get::<A>(self.stream, address, version) {
            return Ok(Some(document));
        }
        let Some(row) = self.snapshot.document(self.stream, address)? else { return Ok(None) };
        let (_, document) = self.decode::<A>(&row)?;
        Ok(Some(document))
    }

    fn decode<A: Aggregate>(
        &self,
        row: &DocumentRow,
    ) -> Result<(A::Key, Arc<A::Document>), StoreError> {
        let (key, document) = decode::<A>(self.stream, row)?;
        let document = Arc::new(document);
        if self.committed {
            self.cache.keep::<A>(self.stream, row, row.body.len(), Arc::clone(&document));
        }
        Ok((key, document))
    }
}

/// Loads a list. If most of it is cached, only the missing documents are read, otherwise the whole
/// list.
fn supply_list<A: Aggregate>(
    source: &mut DocumentSource<'_>,
    documents: &mut Documents<A>,
    query: &ListQuery,
) -> Result<Vec<A::Key>, StoreError> {
    let listed = source.snapshot.list_versions(source.stream, query)?;
    let get = |(address, version): &(Address, u64)| {
        source.cache.get::<A>(source.stream, address, *version)
    };
    let found: Vec<Option<Arc<A::Document>>> = listed.iter().map(get).collect();
    let missing = found.iter().filter(|document| document.is_none()).count();
    if missing > listed.len() / 4 {
        return supply_rows(source, documents, query);
    }
    let mut keys = Vec::with_capacity(listed.len());
    for ((address, version), document) in listed.into_iter().zip(found) {
        let document = match document {
            Some(document) => Some(document),
            None => source.document::<A>(&address, version)?,
        };
        let key = key::<A>(source.stream, &address)?;
        documents.supply(key.clone(), document);
        keys.push(key);
    }
    Ok(keys)
}

fn supply_rows<A: Aggregate>(
    source: &mut DocumentSource<'_>,
    documents: &mut Documents<A>,
    query: &ListQuery,
) -> Result<Vec<A::Key>, StoreError> {
    let rows = source.snapshot.list(source.stream, query)?;
    let mut keys = Vec::with_capacity(rows.len());
    for row in &rows {
        let (key, document) = source.decode::<A>(row)?;
        documents.supply(key.clone(), Some(document));
        keys.push(key);
    }
    Ok(keys)
}

/// The briefs of a list: as stored, or from the documents where some are missing or were written by
/// another version.
fn briefs<A: Aggregate>(
    source: &mut DocumentSource<'_>,
    query: &ListQuery,
) -> Result<Vec<Arc<A::Brief>>, StoreError> {
    let kept = source.snapshot.briefs(source.stream, query)?;
    let read = |kept: Vec<Arc<str>>| -> Option<Vec<Arc<A::Brief>>> {
        kept.iter().map(|text| A::Brief::read(text).map(Arc::new)).collect()
    };
    if let Some(briefs) = kept.and_then(read) {
        return Ok(briefs);
    }
    let mut briefs = Vec::new();
    for row in source.snapshot.list(source.stream, query)? {
        briefs.extend(A::brief(&decode::<A>(source.stream, &row)?.1).map(Arc::new));
    }
    Ok(briefs)
}

/// A slice of the log as lists show it: as stored, or from the events.
fn shown<A: Aggregate>(
    source: &mut DocumentSource<'_>,
    query: &EventQuery,
) -> Result<Vec<Shown>, StoreError> {
    let kept = source.snapshot.shown(source.stream, query)?;
    let read = |row: &ShownRow| {
        let stamp = EventStamp { global: row.global, at: row.at, by: row.by.as_deref() };
        let event = A::listed(&stamp, &row.shown)?;
        Some(Shown { global: row.global, event })
    };
    if let Some(shown) = kept.and_then(|kept| kept.iter().map(read).collect()) {
        return Ok(shown);
    }
    let mut shown = Vec::new();
    for row in source.snapshot.events(source.stream, query)? {
        shown.extend(Shown::of::<A>(&recorded::<A>(source.stream, &row)?));
    }
    Ok(shown)
}

/// Documents of one kind over all streams of a room.
pub(crate) fn catalogue<A: Aggregate>(
    snapshot: &mut dyn StoreSnapshot,
    query: &CatalogueQuery,
) -> Result<Vec<(String, A::Document)>, StoreError> {
    let rows = snapshot.catalogue(query)?;
    let ours = rows.into_iter().filter(|(stream, _)| {
        stream.strip_prefix(A::STREAM).is_some_and(|rest| rest.starts_with('/'))
    });
    ours.map(|(stream, row)| decode::<A>(&stream, &row).map(|(_, document)| (stream, document)))
        .collect()
}

pub(crate) fn decode<A: Aggregate>(
    stream: &str,
    row: &DocumentRow,
) -> Result<(A::Key, A::Document), StoreError> {
    let key = key::<A>(stream, &row.address)?;
    match A::decode(&key, &row.body) {
        Ok(document) => Ok((key, document)),
        Err(error) => Err(damaged(stream, &row.address, error.to_string())),
    }
}

pub(crate) fn key<A: Aggregate>(stream: &str, address: &Address) -> Result<A::Key, StoreError> {
    let unknown = || damaged(stream, address, "a document of an unknown kind".to_owned());
    A::key(address).ok_or_else(unknown)
}

fn damaged(stream: &str, address: &Address, finding: String) -> StoreError {
    StoreError::Damaged { place: format!("{stream} {} {}", address.kind, address.name), finding }
}

/// Decodes the event of a row.
pub(crate) fn recorded<A: Aggregate>(
    stream: &str,
    row: &EventRow,
) -> Result<Recorded<A::Event>, StoreError> {
    match serde_json::from_str(&row.body) {
        Ok(event) => {
            let by = author(stream, row)?;
            let intent = row.intent.as_deref().map(Arc::from);
            Ok(Recorded { global: row.global, seq: row.seq, at: row.at, by, intent, event })
        }
        Err(error) => Err(StoreError::Damaged {
            place: format!("{stream} event {}", row.seq),
            finding: error.to_string(),
        }),
    }
}

fn author(stream: &str, row: &EventRow) -> Result<Option<Arc<Author>>, StoreError> {
    let Some(by) = &row.by else { return Ok(None) };
    let damaged = |error: serde_json::Error| StoreError::Damaged {
        place: format!("{stream} author of event {}", row.seq),
        finding: error.to_string(),
    };
    serde_json::from_str(by).map(Some).map_err(damaged)
}
