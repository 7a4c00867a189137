//! Searches messages, artifacts and files, in one run or in all.
//!
//! An index finds the events that may match. Where very many do, or where the words are too short
//! for it, the log is read from its end, a limited part of it for one response; the cursor says
//! where the next one continues. So a response costs the same for any history, and an empty one
//! with a cursor means that nothing was found *so far*.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
};

use muster_core::{
    Json, SearchTopic,
    run::{
        id::RunId,
        lookup,
        view::search::{Hit, HitKind, SearchWords},
    },
};
use muster_engine::log_index::StoreSearch;
use muster_store::{LogPlace, Store, StoreError, StoreSnapshot};
use schemars::JsonSchema;
use serde::Serialize;

use super::{
    RunCursor, RunDesk, RunTold,
    history::{ListEnd, line},
};

/// Events that are read at once.
const EVENTS_AT_ONCE: u64 = 1_000;
/// Events that one response covers.
const EVENTS_LOOKED_AT_MAX: u64 = 20_000;
/// Candidates of the index, for each topic; where there are more, a walk soon meets one.
const CANDIDATES_MAX: u32 = 2_000;
/// What the index has of the content of runs.
const TOPICS: [SearchTopic; 2] = [SearchTopic::Message, SearchTopic::File];

/// The query, and where to search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchRequest {
    pub question: SearchWords,
    pub run: Option<RunId>,
    /// Only after this position: everything newer was searched. Runs come in the order of their
    /// creation, which does not change, newest first; the number is that of an event.
    pub after: Option<RunCursor>,
    /// About this many results; those of one event stay together.
    pub limit: u32,
}

/// The results, newest first in each run.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SearchAnswer {
    /// The results.
    pub hits: Vec<Hit>,
    /// Names of their runs.
    pub runs: BTreeMap<RunId, String>,
    /// Events that were searched.
    pub looked_at: u64,
    /// Where to continue.
    pub page: ListEnd,
}

impl RunDesk<'_> {
    /// Searches; several matches in the same file count once.
    pub fn search(self, request: &SearchRequest) -> RunTold<Json> {
        let mut runs = match request.run {
            Some(run) => {
                self.exists(run)?;
                vec![run]
            }
            None => self.all()?,
        };
        runs.sort_by(|a, b| b.cmp(a));
        runs.retain(|run| request.after.is_none_or(|after| *run <= after.of));
        let mut walk = Walk::new(request);
        let next = match walk.by_index(self.engine().store(), &runs)? {
            Some(next) => next,
            None => walk.through_all(self.engine().store(), runs)?,
        };
        let met: BTreeSet<RunId> = walk.hits.iter().map(|hit| hit.run_id).collect();
        let mut runs = BTreeMap::new();
        for run in met {
            let name =
                self.read(run, |docs| Ok(lookup::find_run(docs)?.map(|run| run.name.clone())));
            // A run that was deleted meanwhile no longer has a name.
            runs.insert(run, name?.unwrap_or_default());
        }
        let page = ListEnd::at(next);
        let Walk { hits, looked_at, .. } = walk;
        Ok(Json::of(&SearchAnswer { hits, runs, looked_at, page }))
    }
}

/// A walk through logs, towards the oldest event.
struct Walk<'a> {
    request: &'a SearchRequest,
    hits: Vec<Hit>,
    files: BTreeSet<(RunId, String)>,
    looked_at: u64,
}

impl<'a> Walk<'a> {
    fn new(request: &'a SearchRequest) -> Self {
        Self { request, hits: Vec::new(), files: BTreeSet::new(), looked_at: 0 }
    }

    fn is_full(&self) -> bool {
        self.hits.len() >= self.request.limit as usize
    }

    fn is_over(&self) -> bool {
        self.is_full() || self.looked_at >= EVENTS_LOOKED_AT_MAX
    }

    /// Looks at the events that the index finds; returns where to continue when this response is
    /// full. `None` if the index does not help.
    fn by_index(
        &mut self,
        store: &dyn Store,
        runs: &[RunId],
    ) -> Result<Option<Option<RunCursor>>, StoreError> {
        let SearchRequest { question, run, after, .. } = self.request;
        let mut search = StoreSearch::begin(store)?;
        let stream = run.map(RunId::stream);
        let place = (stream.as_deref(), CANDIDATES_MAX);
        let Some(found) = search.all_events(&TOPICS, question, place)? else { return Ok(None) };
        let known: BTreeSet<RunId> = runs.iter().copied().collect();
        let newer = |(run, place): &(RunId, LogPlace)| {
            known.contains(run)
                && after.is_none_or(|after| (*run, place.seq) < (after.of, after.at))
        };
        let found = found.into_iter();
        let found = found.filter_map(|place| Some((RunId::of_stream(&place.stream)?, place)));
        let mut found: Vec<(RunId, LogPlace)> = found.filter(newer).collect();
        found.sort_by_key(|(run, place)| Reverse((*run, place.seq)));
        let mut next = None;
        for (run, place) in found {
            if self.is_full() {
                next = Some(RunCursor { at: place.seq + 1, of: run });
                break;
            }
            if let Some(row) = search.event(&place)? {
                self.take(question.hits(run, line(&row)));
            }
        }
        for run in known {
            let covered = |from: Option<RunCursor>, head: u64| match from {
                Some(from) if from.of < run => 0,
                Some(from) if from.of == run => head.min(from.at.saturating_sub(1)),
                Some(_) | None => head,
            };
            let head = search.head(&run.stream())?.seq;
            let left = next.map_or(0, |next| covered(Some(next), head));
            self.looked_at += covered(*after, head).saturating_sub(left);
        }
        Ok(Some(next))
    }

    /// Walks through these runs; returns where to continue when this response is full.
    fn through_all(
        &mut self,
        store: &dyn Store,
        runs: Vec<RunId>,
    ) -> Result<Option<RunCursor>, StoreError> {
        let mut snapshot = store.snapshot()?;
        for run in runs {
            let before = self.request.after.filter(|after| after.of == run);
            let before = before.map_or(u64::MAX, |after| after.at);
            let next = self.through(&mut *snapshot, run, before)?;
            if next.is_some() {
                return Ok(next);
            }
        }
        Ok(None)
    }

    /// Walks through one run; returns where to continue when this response is full.
    fn through(
        &mut self,
        snapshot: &mut dyn StoreSnapshot,
        run: RunId,
        before: u64,
    ) -> Result<Option<RunCursor>, StoreError> {
        let stream = run.stream();
        let mut end = snapshot.head(&stream)?.seq.min(before.saturating_sub(1));
        while end > 0 {
            if self.is_over() {
                return Ok(Some(RunCursor { at: end + 1, of: run }));
            }
            let after = end.saturating_sub(EVENTS_AT_ONCE);
            let limit = u32::try_from(end - after).unwrap_or(u32::MAX);
            for row in snapshot.tail(&stream, after, limit)?.iter().rev() {
                self.looked_at += 1;
                self.take(self.request.question.hits(run, line(row)));
                if self.is_over() && row.seq > 1 {
                    return Ok(Some(RunCursor { at: row.seq, of: run }));
                }
            }
            end = after;
        }
        Ok(None)
    }

    /// Collects results; of a file that many turns changed, only the newest change.
    fn take(&mut self, hits: Vec<Hit>) {
        for hit in hits {
            let again =
                hit.kind == HitKind::File && !self.files.insert((hit.run_id, hit.excerpt.clone()));
            if !again || hit.further.is_some() {
                self.hits.push(hit);
            }
        }
    }
}
