//! Collects results, kind by kind.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::{Duration, Instant},
};

use muster_core::{
    SearchTopic,
    run::{RunAggregate, RunDocument, RunKey, id::RunId},
    tasks::id::{PlanId, WorkspaceId},
};
use muster_engine::log_index::StoreSearch;
use muster_store::{LogPlace, StoreError, StringsQuery};

use super::{FindAnswer, FindRequest, FoundItem, FoundKind};

/// Candidates of one query to the index that are read, for each kind.
const CANDIDATES_MAX: u32 = 120;
/// What precedes a field in the index of events.
const EVENT_LEAD: &str = " ";
/// After this long, no further candidates are read. In a store of any size this is rarely reached.
const SEARCH_TIME_MAX: Duration = Duration::from_millis(400);

pub(super) struct Finder<'a> {
    pub(super) search: StoreSearch<'a>,
    pub(super) request: &'a FindRequest,
    deadline: Instant,
    items: Vec<FoundItem>,
    cut: BTreeSet<FoundKind>,
    /// Names of runs and titles of plans that were read.
    run_names: BTreeMap<RunId, Option<String>>,
    pub(super) plan_titles: BTreeMap<(WorkspaceId, PlanId), Option<String>>,
}

impl<'a> Finder<'a> {
    pub(super) fn new(search: StoreSearch<'a>, request: &'a FindRequest) -> Self {
        Self {
            search,
            request,
            deadline: Instant::now() + SEARCH_TIME_MAX,
            items: Vec::new(),
            cut: BTreeSet::new(),
            run_names: BTreeMap::new(),
            plan_titles: BTreeMap::new(),
        }
    }

    /// Looks for every kind.
    pub(super) fn answer(mut self) -> Result<FindAnswer, StoreError> {
        self.by_id()?;
        if self.request.run.is_none() {
            self.plans_and_tasks()?;
            self.steps()?;
            self.notes()?;
        }
        if self.request.workspace.is_none() {
            self.runs_and_sessions()?;
            self.content_of_runs()?;
        }
        self.items.sort_by_key(|item| (item.matched, item.kind));
        let unsearched = self.search.unsearched();
        Ok(FindAnswer { hits: self.items, cut: self.cut, unsearched })
    }

    pub(super) fn wants(&self, kind: FoundKind) -> bool {
        self.request.kinds.is_empty() || self.request.kinds.contains(&kind)
    }

    pub(super) fn is_late(&self) -> bool {
        Instant::now() > self.deadline
    }

    /// Reads events of a topic that may match, the most promising first, until there are enough
    /// results of these kinds.
    pub(super) fn gather(
        &mut self,
        topic: SearchTopic,
        (kinds, stream): (&[FoundKind], Option<&str>),
        mut read: impl FnMut(&mut Self, &LogPlace) -> Result<Vec<FoundItem>, StoreError>,
    ) -> Result<(), StoreError> {
        if !kinds.iter().any(|kind| self.wants(*kind)) {
            return Ok(());
        }
        let mut seen: BTreeSet<(String, u64)> = BTreeSet::new();
        let mut found: Vec<FoundItem> = Vec::new();
        let mut has_more = false;
        for strings in self.request.words.probes(EVENT_LEAD) {
            let query = StringsQuery { strings: &strings, stream, limit: CANDIDATES_MAX };
            let places = self.search.events(topic, &query)?;
            has_more = places.len() == CANDIDATES_MAX as usize;
            for place in places {
                if self.is_late() {
                    has_more = true;
                    break;
                }
                if seen.insert((place.stream.clone(), place.seq)) {
                    found.extend(read(self, &place)?);
                }
            }
            if found.len() > self.request.limit as usize || self.is_late() {
                has_more = true;
                break;
            }
        }
        self.keep(kinds, found, has_more);
        Ok(())
    }

    /// Keeps the best results of each kind.
    pub(super) fn keep(&mut self, kinds: &[FoundKind], mut found: Vec<FoundItem>, has_more: bool) {
        found.sort_by_key(|item| item.matched);
        for kind in kinds {
            if !self.wants(*kind) {
                continue;
            }
            let mut distinct: Vec<FoundItem> = Vec::new();
            for item in found.iter().filter(|item| item.kind == *kind) {
                let mut known = self.items.iter().chain(&distinct);
                if !known.any(|known| known.names_the_same(item)) {
                    distinct.push(item.clone());
                }
            }
            let limit = self.request.limit as usize;
            if has_more || distinct.len() > limit {
                self.cut.insert(*kind);
            }
            distinct.truncate(limit);
            self.items.extend(distinct);
        }
    }

    /// The name of a run; nothing if it does not exist.
    pub(super) fn run_name(&mut self, run: RunId) -> Result<Option<String>, StoreError> {
        if let Some(name) = self.run_names.get(&run) {
            return Ok(name.clone());
        }
        let document = self.search.document::<RunAggregate>(&run.stream(), &RunKey::Run)?;
        let name = if let Some(RunDocument::Run(run)) = document { Some(run.name) } else { None };
        self.run_names.insert(run, name.clone());
        Ok(name)
    }
}

impl FoundItem {
    /// Whether both lead to the same place.
    fn names_the_same(&self, other: &Self) -> bool {
        let place = |item: &Self| {
            let place = &item.place;
            (item.kind, place.workspace.clone(), place.entity(), place.run_id)
        };
        self.id == other.id && place(self) == place(other)
    }
}
