//! Searches messages, artifacts and files, in one run or in all.
//!
//! The log is read from its end, a limited part of it for one response; the cursor says where the
//! next one continues. So a response costs the same for any history, and an empty one with a
//! cursor means that nothing was found *so far*.

use std::collections::{BTreeMap, BTreeSet};

use muster_core::{
    Json,
    run::{
        id::RunId,
        lookup,
        view::search::{Hit, HitKind, SearchWords},
    },
};
use muster_store::{StoreError, StoreSnapshot};
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

/// The query, and where to search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchRequest {
    pub question: SearchWords,
    pub run: Option<RunId>,
    /// Only after this position: everything newer was searched. Runs come in the order of their
    /// creation, which does not change, newest first; the number is that of an event.
    pub behind: Option<RunCursor>,
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
        runs.retain(|run| request.behind.is_none_or(|behind| *run <= behind.of));
        let mut snapshot = self.engine().store().snapshot()?;
        let mut walk = Walk::new(request);
        let mut next = None;
        for run in runs {
            let before = request.behind.filter(|behind| behind.of == run);
            let before = before.map_or(u64::MAX, |behind| behind.at);
            next = walk.through(&mut *snapshot, run, before)?;
            if next.is_some() {
                break;
            }
        }
        drop(snapshot);
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

    fn is_over(&self) -> bool {
        self.hits.len() >= self.request.limit as usize || self.looked_at >= EVENTS_LOOKED_AT_MAX
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
