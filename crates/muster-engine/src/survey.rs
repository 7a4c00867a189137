//! Lists that are filtered by more than columns: with the index of searches where it applies, else
//! by reading every document. And how that index is filled.

use std::{collections::BTreeMap, sync::Arc};

use muster_core::{
    Address, Aggregate, Documents, FIELD_SEPARATOR, ListQuery, Survey, SurveyResult, searched_text,
};
use muster_store::{Append, DocumentChange, Store, StoreError, TextMatches, Transaction};

use crate::{
    load::{self, DocumentSource},
    rows,
};

/// Rows per page while a list is walked.
const SURVEY_ROWS: u32 = 500;

/// Counts the matching documents of a list and keeps one page of them.
pub(crate) fn conduct<A: Aggregate>(
    source: &mut DocumentSource<'_>,
    documents: &mut Documents<A>,
    survey: &Survey<A::Filter>,
) -> Result<SurveyResult<A::Key>, StoreError> {
    let sought = A::sought(&survey.filter)
        .filter(|sought| !sought.text.contains([FIELD_SEPARATOR, '\0']) && !sought.text.is_empty())
        .filter(|_| A::SEARCHED_KINDS.contains(&survey.list.kind));
    let Some(sought) = sought else { return walk(source, documents, survey) };
    let query = match sought.alone {
        true => ListQuery {
            after: Some(survey.after),
            limit: Some(survey.limit),
            ..survey.list.clone()
        },
        false => survey.list.clone(),
    };
    match source.snapshot.search(source.stream, &query, sought.text)? {
        Some(found) if sought.alone => page(source, documents, found),
        Some(found) => sift(source, documents, survey, found.page),
        None => walk(source, documents, survey),
    }
}

/// The page of a search that was the only condition.
fn page<A: Aggregate>(
    source: &mut DocumentSource<'_>,
    documents: &mut Documents<A>,
    found: TextMatches,
) -> Result<SurveyResult<A::Key>, StoreError> {
    let mut surveyed = SurveyResult { counts: found.counts, page: Vec::new() };
    for (address, version) in found.page {
        let key = load::key::<A>(source.stream, &address)?;
        documents.supply(key.clone(), source.document::<A>(&address, version)?);
        surveyed.page.push(key);
    }
    Ok(surveyed)
}

/// Applies the other conditions to what a search found.
fn sift<A: Aggregate>(
    source: &mut DocumentSource<'_>,
    documents: &mut Documents<A>,
    survey: &Survey<A::Filter>,
    found: Vec<(Address, u64)>,
) -> Result<SurveyResult<A::Key>, StoreError> {
    let mut surveyed = SurveyResult { counts: BTreeMap::new(), page: Vec::new() };
    for (address, version) in found {
        let Some(document) = source.document::<A>(&address, version)? else { continue };
        let key = load::key::<A>(source.stream, &address)?;
        admit(&mut surveyed, documents, survey, (key, document));
    }
    Ok(surveyed)
}

/// Walks a whole list in pages.
fn walk<A: Aggregate>(
    source: &mut DocumentSource<'_>,
    documents: &mut Documents<A>,
    survey: &Survey<A::Filter>,
) -> Result<SurveyResult<A::Key>, StoreError> {
    let mut surveyed = SurveyResult { counts: BTreeMap::new(), page: Vec::new() };
    let mut after = None;
    loop {
        let query = ListQuery { after, limit: Some(SURVEY_ROWS), ..survey.list.clone() };
        let rows = source.snapshot.list(source.stream, &query)?;
        for row in &rows {
            let (key, document) = load::decode::<A>(source.stream, row)?;
            admit(&mut surveyed, documents, survey, (key, Arc::new(document)));
        }
        match rows.last() {
            Some(last) => after = Some(last.index.ord),
            None => return Ok(surveyed),
        }
    }
}

/// Counts a document that passes the filter, and takes it if the page has room.
fn admit<A: Aggregate>(
    surveyed: &mut SurveyResult<A::Key>,
    documents: &mut Documents<A>,
    survey: &Survey<A::Filter>,
    (key, document): (A::Key, Arc<A::Document>),
) {
    if !A::admits(&survey.filter, &document) {
        return;
    }
    let index = A::index(&document);
    *surveyed.counts.entry(index.status.into_owned()).or_default() += 1;
    if index.ord > survey.after && surveyed.page.len() < survey.limit as usize {
        documents.supply(key.clone(), Some(document));
        surveyed.page.push(key);
    }
}

fn fill<A: Aggregate>(
    transaction: &mut dyn Transaction,
    stream: &str,
    kind: &'static str,
) -> Result<(), StoreError> {
    let mut after = None;
    loop {
        let query = ListQuery { after, limit: Some(SURVEY_ROWS), ..ListQuery::of(kind) };
        let rows = transaction.list(stream, &query)?;
        let Some(last) = rows.last() else { return Ok(()) };
        after = Some(last.index.ord);
        let mut found_by: Vec<DocumentChange> = Vec::with_capacity(rows.len());
        for row in &rows {
            let (key, document) = load::decode::<A>(stream, row)?;
            found_by.extend(rows::search::<A>(&key, &A::searched(&document)));
        }
        transaction.append(&Append { stream, events: &[], documents: &found_by })?;
    }
}

/// What a document should be found by.
pub(crate) fn expected<A: Aggregate>(document: &A::Document) -> Option<String> {
    searched_text(&A::searched(document))
}

/// Fills the index of searches of a store that an earlier version wrote.
pub fn complete<A: Aggregate>(store: &dyn Store) -> Result<(), StoreError> {
    let is_complete = store.snapshot()?.is_searchable()?;
    if is_complete { Ok(()) } else { rebuild::<A>(store) }
}

/// Fills the index of searches again from the documents of the one room that is searched.
pub fn rebuild<A: Aggregate>(store: &dyn Store) -> Result<(), StoreError> {
    let mut transaction = store.begin()?;
    for stream in transaction.streams(&format!("{}/", A::STREAM))? {
        for kind in A::SEARCHED_KINDS {
            fill::<A>(&mut *transaction, &stream.name, kind)?;
        }
    }
    transaction.rebuild_search()?;
    transaction.commit()
}
