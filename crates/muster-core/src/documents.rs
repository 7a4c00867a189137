//! The working set: the documents that work has loaded, and its changes.
//!
//! ```text
//!   current   changes of the call under way        dropped by `rollback`
//!   earlier   changes of calls before it           (several calls can share one transaction)
//!   loaded    as the store holds them              None: known to be absent
//! ```
//!
//! Reads look from top to bottom. A key found in none of the layers gives [`Unloaded`]; the engine
//! loads it and runs the work again from the start, which is safe because work is pure.

mod query;

use std::{collections::BTreeMap, sync::Arc};

pub use query::{
    EventChoice, EventOrder, EventQuery, ListOrder, ListQuery, RankBound, Survey, SurveyResult,
};

use crate::{Aggregate, EventStamp, Json, Recorded};

/// Something that has to be loaded first.
#[derive(Clone, Debug, PartialEq)]
pub enum Need<A: Aggregate> {
    Document(A::Key),
    /// Several documents that the work is going to read one by one.
    Documents(Vec<A::Key>),
    /// A list of documents.
    List(ListQuery),
    /// Several lists that the work is going to read one by one.
    Lists(Vec<ListQuery>),
    /// The briefs of several lists of documents.
    Briefs(Vec<ListQuery>),
    /// A page of a filtered list, with counts over the whole of it.
    Survey(Survey<A::Filter>),
    /// A slice of the log.
    Events(EventQuery),
    /// A slice of the log as lists show it.
    Shown(EventQuery),
}

/// The result of a look-up when something is not loaded.
#[derive(Clone, Debug, PartialEq)]
pub struct Unloaded<A: Aggregate>(pub Box<Need<A>>);

fn unloaded<A: Aggregate>(need: Need<A>) -> Unloaded<A> {
    Unloaded(Box::new(need))
}

/// A slice of a stream, shared.
pub type Slice<E> = Arc<[Recorded<E>]>;

/// An event as lists show it.
#[derive(Clone, Debug, PartialEq)]
pub struct Shown {
    /// Store-wide position.
    pub global: u64,
    /// What is shown.
    pub event: Json,
}

type Layer<A> = BTreeMap<<A as Aggregate>::Key, Option<Arc<<A as Aggregate>::Document>>>;

/// The loaded documents and the changes made to them.
#[derive(Clone)]
pub struct Documents<A: Aggregate> {
    loaded: Layer<A>,
    earlier: Layer<A>,
    current: Layer<A>,
    lists: BTreeMap<ListQuery, Vec<A::Key>>,
    briefs: BTreeMap<ListQuery, Vec<Arc<A::Brief>>>,
    surveys: BTreeMap<Survey<A::Filter>, SurveyResult<A::Key>>,
    slices: BTreeMap<EventQuery, Slice<A::Event>>,
    shown: BTreeMap<EventQuery, Arc<[Shown]>>,
    drafted: Vec<Recorded<A::Event>>,
    complete: bool,
}

impl Shown {
    /// The event as lists show it; `None` for one that they do not show.
    pub fn of<A: Aggregate>(recorded: &Recorded<A::Event>) -> Option<Self> {
        let fact = A::fact(&recorded.event)?;
        let by = recorded.by.as_deref().map(Json::of);
        let by = by.as_ref().map(Json::text);
        let stamp = EventStamp { global: recorded.global, at: recorded.at, by };
        let event = A::listed(&stamp, &fact)?;
        Some(Self { global: recorded.global, event })
    }
}

impl<A: Aggregate> Default for Documents<A> {
    fn default() -> Self {
        Self {
            loaded: BTreeMap::new(),
            earlier: BTreeMap::new(),
            current: BTreeMap::new(),
            lists: BTreeMap::new(),
            briefs: BTreeMap::new(),
            surveys: BTreeMap::new(),
            slices: BTreeMap::new(),
            shown: BTreeMap::new(),
            drafted: Vec::new(),
            complete: false,
        }
    }
}

impl<A: Aggregate> Documents<A> {
    /// A complete set: a missing key is absent, not unloaded.
    pub fn complete() -> Self {
        Self { complete: true, ..Self::default() }
    }

    /// The current document.
    pub fn get(&self, key: &A::Key) -> Result<Option<&A::Document>, Unloaded<A>> {
        match self.current.get(key) {
            Some(slot) => Ok(slot.as_deref()),
            None => self.original(key),
        }
    }

    /// The document as it was when the current call began.
    pub fn original(&self, key: &A::Key) -> Result<Option<&A::Document>, Unloaded<A>> {
        match self.earlier.get(key).or_else(|| self.loaded.get(key)) {
            Some(slot) => Ok(slot.as_deref()),
            None if self.complete => Ok(None),
            None => Err(unloaded(Need::Document(key.clone()))),
        }
    }

    /// The document as the store holds it, if it was loaded and exists.
    pub fn stored(&self, key: &A::Key) -> Option<&A::Document> {
        self.loaded.get(key)?.as_deref()
    }

    /// The document for changing; copies it into the current call on first use.
    pub fn edit(&mut self, key: &A::Key) -> Result<Option<&mut A::Document>, Unloaded<A>> {
        if !self.current.contains_key(key) {
            let slot = match self.earlier.get(key).or_else(|| self.loaded.get(key)) {
                Some(slot) => slot.clone(),
                None if self.complete => None,
                None => return Err(unloaded(Need::Document(key.clone()))),
            };
            self.current.insert(key.clone(), slot);
        }
        Ok(self.current.get_mut(key).and_then(Option::as_mut).map(Arc::make_mut))
    }

    /// Sets or replaces a document.
    pub fn put(&mut self, key: A::Key, document: A::Document) {
        self.current.insert(key, Some(Arc::new(document)));
    }

    /// Sets a new document, so that its absence need not be looked up.
    pub fn create(&mut self, key: A::Key, document: A::Document) {
        if !self.earlier.contains_key(&key) {
            self.loaded.entry(key.clone()).or_insert(None);
        }
        self.put(key, document);
    }

    /// Removes a document.
    pub fn remove(&mut self, key: A::Key) {
        self.current.insert(key, None);
    }

    /// The current documents of a list, changes of this work included.
    pub fn list(&self, query: &ListQuery) -> Result<Vec<&A::Document>, Unloaded<A>> {
        let padded = self.padded(query);
        let stored: Vec<&A::Key> = match self.lists.get(&padded) {
            Some(keys) => keys.iter().collect(),
            None if self.complete => self.loaded.keys().collect(),
            None => return Err(unloaded(Need::List(padded))),
        };
        if self.is_stored() {
            return stored.into_iter().filter_map(|key| self.get(key).transpose()).collect();
        }
        let mut rows: Vec<((u64, u64), &A::Document)> = Vec::new();
        let changed =
            |key: &A::Key| self.current.contains_key(key) || self.earlier.contains_key(key);
        for key in stored.into_iter().filter(|key| !changed(key)) {
            let Some(document) = self.get(key)? else { continue };
            let index = A::index(document);
            if !self.complete || query.admits(&A::address(key), &index) {
                rows.push((query.order.sort_key(&index), document));
            }
        }
        for (key, document) in self.changes() {
            let Some(document) = document else { continue };
            let index = A::index(document);
            if query.admits(&A::address(key), &index) {
                rows.push((query.order.sort_key(&index), document));
            }
        }
        rows.sort_by_key(|(sort_key, _)| *sort_key);
        let limit = query.limit.map_or(usize::MAX, |limit| limit as usize);
        Ok(rows.into_iter().take(limit).map(|(_, document)| document).collect())
    }

    /// The current briefs of a list of documents, changes of this work included.
    pub fn briefs(&self, query: &ListQuery) -> Result<Vec<Arc<A::Brief>>, Unloaded<A>> {
        if self.is_stored() {
            let kept = self.briefs.get(query).cloned();
            return kept.ok_or_else(|| unloaded(Need::Briefs(vec![query.clone()])));
        }
        let documents = self.list(query)?;
        Ok(documents.into_iter().filter_map(A::brief).map(Arc::new).collect())
    }

    /// Makes sure that the briefs of lists are loaded before the first of them is used.
    pub fn have_briefs(&self, lists: &[ListQuery]) -> Result<(), Unloaded<A>> {
        if !self.is_stored() {
            return self.have(lists);
        }
        let missing = lists.iter().filter(|query| !self.briefs.contains_key(query));
        let missing: Vec<_> = missing.cloned().collect();
        if missing.is_empty() { Ok(()) } else { Err(unloaded(Need::Briefs(missing))) }
    }

    /// Whether lists are still as the store has sorted and cut them: nothing has changed yet.
    fn is_stored(&self) -> bool {
        !self.complete && self.earlier.is_empty() && self.current.is_empty()
    }

    /// Makes sure that documents are loaded before the first of them is used, so that work does not
    /// start over for each.
    pub fn have_all(&self, keys: impl Iterator<Item = A::Key>) -> Result<(), Unloaded<A>> {
        let missing: Vec<_> = keys.filter(|key| self.get(key).is_err()).collect();
        if missing.is_empty() { Ok(()) } else { Err(unloaded(Need::Documents(missing))) }
    }

    /// Makes sure that lists are loaded before the first of them is used, so that work does not
    /// start over for each.
    pub fn have(&self, lists: &[ListQuery]) -> Result<(), Unloaded<A>> {
        let padded = lists.iter().map(|query| self.padded(query));
        let missing: Vec<_> = padded.filter(|query| !self.lists.contains_key(query)).collect();
        if self.complete || missing.is_empty() {
            return Ok(());
        }
        Err(unloaded(Need::Lists(missing)))
    }

    /// The list to load: longer by the number of documents that this work may have removed from it.
    fn padded(&self, query: &ListQuery) -> ListQuery {
        let changed = self.changes().filter(|(key, _)| A::address(key).kind == query.kind).count();
        let padding = if changed == 0 { 0 } else { changed.next_power_of_two() };
        let padding = u32::try_from(padding).unwrap_or(u32::MAX);
        let limit = query.limit.map(|limit| limit.saturating_add(padding));
        ListQuery { limit, ..query.clone() }
    }

    /// A page of a filtered list as the store holds it.
    pub fn survey(&self, survey: &Survey<A::Filter>) -> Result<&SurveyResult<A::Key>, Unloaded<A>> {
        self.surveys.get(survey).ok_or_else(|| unloaded(Need::Survey(survey.clone())))
    }

    /// A slice of the log, including events of the current work.
    pub fn events(&self, query: &EventQuery) -> Result<Slice<A::Event>, Unloaded<A>> {
        let Some(stored) = self.slices.get(query) else {
            return Err(unloaded(Need::Events(query.clone())));
        };
        if self.drafted.is_empty() {
            return Ok(Arc::clone(stored));
        }
        let drafted = self.drafted.iter().filter(|recorded| query.admits::<A>(recorded)).cloned();
        let limit = query.limit as usize;
        Ok(match query.order {
            EventOrder::OldestFirst => stored.iter().cloned().chain(drafted).take(limit).collect(),
            EventOrder::NewestFirst => {
                let newest: Vec<_> = drafted.collect();
                newest.into_iter().rev().chain(stored.iter().cloned()).take(limit).collect()
            }
        })
    }

    /// A slice of the log as lists show it, including events of the current work.
    pub fn shown(&self, query: &EventQuery) -> Result<Arc<[Shown]>, Unloaded<A>> {
        if !self.drafted.is_empty() {
            return Ok(self.events(query)?.iter().filter_map(Shown::of::<A>).collect());
        }
        let shown = self.shown.get(query).cloned();
        shown.ok_or_else(|| unloaded(Need::Shown(query.clone())))
    }

    /// Adds an event of the current work.
    pub(crate) fn record(&mut self, event: Recorded<A::Event>) {
        self.drafted.push(event);
    }

    /// Sets the intent of an event of the current work; returns the event.
    pub(crate) fn name_intent(&mut self, at: usize, intent: &str) -> Option<Recorded<A::Event>> {
        let recorded = self.drafted.get_mut(at)?;
        recorded.intent = Some(intent.into());
        Some(recorded.clone())
    }

    /// Ends the current work: its events are the caller's from now on.
    pub(crate) fn take_drafted(&mut self) -> Vec<Recorded<A::Event>> {
        std::mem::take(&mut self.drafted)
    }

    /// Events of the current work.
    pub(crate) fn drafted(&self) -> &[Recorded<A::Event>] {
        &self.drafted
    }

    /// Supplies a document from the store.
    pub fn supply(&mut self, key: A::Key, document: Option<Arc<A::Document>>) {
        self.loaded.insert(key, document);
    }

    /// Supplies a list from the store; its documents come through [`Self::supply`].
    pub fn supply_list(&mut self, query: ListQuery, keys: Vec<A::Key>) {
        self.lists.insert(query, keys);
    }

    /// Supplies the briefs of a list from the store.
    pub fn supply_briefs(&mut self, query: ListQuery, briefs: Vec<Arc<A::Brief>>) {
        self.briefs.insert(query, briefs);
    }

    /// Supplies a surveyed page; its documents come through [`Self::supply`].
    pub fn supply_survey(&mut self, survey: Survey<A::Filter>, surveyed: SurveyResult<A::Key>) {
        self.surveys.insert(survey, surveyed);
    }

    /// Supplies a slice of the log.
    pub fn supply_events(&mut self, query: EventQuery, events: Vec<Recorded<A::Event>>) {
        self.slices.insert(query, events.into());
    }

    /// Supplies a slice of the log as lists show it.
    pub fn supply_shown(&mut self, query: EventQuery, shown: Vec<Shown>) {
        self.shown.insert(query, shown.into());
    }

    /// Every change, newest state of each document; `None` means removed.
    pub fn changes(&self) -> impl Iterator<Item = (&A::Key, Option<&A::Document>)> {
        self.changed().map(|(key, slot)| (key, slot.map(|document| &**document)))
    }

    /// The same, shared.
    pub fn changed(&self) -> impl Iterator<Item = (&A::Key, Option<&Arc<A::Document>>)> {
        let before = self.earlier.iter().filter(|(key, _)| !self.current.contains_key(key));
        before.chain(&self.current).map(|(key, slot)| (key, slot.as_ref()))
    }

    /// The documents that the current call has changed.
    pub(crate) fn touched(&self) -> impl Iterator<Item = &A::Key> {
        self.current.keys()
    }

    /// Ends a call: its changes become the state that the next one starts from.
    pub(crate) fn seal(&mut self) {
        // One by one: appending whole maps would walk through all earlier changes.
        self.earlier.extend(std::mem::take(&mut self.current));
    }

    /// Drops the changes of the current call.
    pub(crate) fn rollback(&mut self, events: usize) {
        self.current.clear();
        self.drafted.truncate(events);
    }

    /// Marks every change as stored, after a commit.
    pub fn settle(&mut self) {
        self.seal();
        self.loaded.append(&mut self.earlier);
        self.lists.clear();
        self.briefs.clear();
        self.surveys.clear();
        self.slices.clear();
        self.shown.clear();
        self.drafted.clear();
    }

    /// Drops every change, so that the work can be run again.
    pub fn reset(&mut self) {
        self.earlier.clear();
        self.current.clear();
        self.drafted.clear();
    }
}
