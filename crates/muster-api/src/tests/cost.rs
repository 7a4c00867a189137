//! What a view reads of the store: rows are counted, so that no clock is needed.

use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use muster_core::{Address, EventQuery, ListQuery, LogPosition, Timestamp};
use muster_engine::FixedClock;
use muster_store::{
    CatalogueQuery, Damage, Description, DocumentRow, EventRow, FoundDocument, LogCursor, LogEnd,
    LogPlace, MemoryStore, Numbering, ShownRow, Store, StoreError, StoreSnapshot, StreamEvent,
    StreamRow, StringsQuery, TextMatches, Transaction,
};
use serde_json::{Value, json};

use super::ok;
use crate::{App, AppOptions, Toolset};

/// A store that counts the rows it hands out to readers.
struct Counting {
    store: MemoryStore,
    rows: Arc<AtomicUsize>,
}

struct CountingView<'a> {
    view: Box<dyn StoreSnapshot + 'a>,
    rows: &'a AtomicUsize,
}

impl CountingView<'_> {
    fn count<T>(&self, rows: Result<Vec<T>, StoreError>) -> Result<Vec<T>, StoreError> {
        let rows = rows?;
        self.rows.fetch_add(rows.len(), Ordering::Relaxed);
        Ok(rows)
    }
}

impl StoreSnapshot for CountingView<'_> {
    fn numbering(&self) -> Numbering {
        self.view.numbering()
    }

    fn head(&mut self, stream: &str) -> Result<LogPosition, StoreError> {
        self.view.head(stream)
    }

    fn streams(&mut self, prefix: &str) -> Result<Vec<StreamRow>, StoreError> {
        self.view.streams(prefix)
    }

    fn document(&mut self, stream: &str, at: &Address) -> Result<Option<DocumentRow>, StoreError> {
        self.rows.fetch_add(1, Ordering::Relaxed);
        self.view.document(stream, at)
    }

    fn version(&mut self, stream: &str, address: &Address) -> Result<Option<u64>, StoreError> {
        self.rows.fetch_add(1, Ordering::Relaxed);
        self.view.version(stream, address)
    }

    fn list(&mut self, stream: &str, query: &ListQuery) -> Result<Vec<DocumentRow>, StoreError> {
        let rows = self.view.list(stream, query);
        self.count(rows)
    }

    fn list_versions(
        &mut self,
        stream: &str,
        query: &ListQuery,
    ) -> Result<Vec<(Address, u64)>, StoreError> {
        let rows = self.view.list_versions(stream, query);
        self.count(rows)
    }

    fn briefs(
        &mut self,
        stream: &str,
        query: &ListQuery,
    ) -> Result<Option<Vec<Arc<str>>>, StoreError> {
        let briefs = self.view.briefs(stream, query)?;
        self.rows.fetch_add(briefs.as_ref().map_or(0, Vec::len), Ordering::Relaxed);
        Ok(briefs)
    }

    fn brief(&mut self, stream: &str, address: &Address) -> Result<Option<String>, StoreError> {
        self.rows.fetch_add(1, Ordering::Relaxed);
        self.view.brief(stream, address)
    }

    fn search(
        &mut self,
        stream: &str,
        query: &ListQuery,
        text: &str,
    ) -> Result<Option<TextMatches>, StoreError> {
        self.rows.fetch_add(1, Ordering::Relaxed);
        self.view.search(stream, query, text)
    }

    fn searched(&mut self, stream: &str, address: &Address) -> Result<Option<String>, StoreError> {
        self.rows.fetch_add(1, Ordering::Relaxed);
        self.view.searched(stream, address)
    }

    fn documents_with(
        &mut self,
        query: &StringsQuery<'_>,
    ) -> Result<Option<Vec<FoundDocument>>, StoreError> {
        let found = self.view.documents_with(query)?;
        self.rows.fetch_add(found.as_ref().map_or(0, Vec::len), Ordering::Relaxed);
        Ok(found)
    }

    fn events_with(&mut self, query: &StringsQuery<'_>) -> Result<Vec<LogPlace>, StoreError> {
        let found = self.view.events_with(query);
        self.count(found)
    }

    fn unindexed_count(&mut self) -> Result<u64, StoreError> {
        self.view.unindexed_count()
    }

    fn unindexed(&mut self, end: LogEnd, limit: u32) -> Result<Vec<StreamEvent>, StoreError> {
        let events = self.view.unindexed(end, limit);
        self.count(events)
    }

    fn log(
        &mut self,
        after: LogCursor,
        limit: u32,
    ) -> Result<Vec<(LogCursor, StreamEvent)>, StoreError> {
        let events = self.view.log(after, limit);
        self.count(events)
    }

    fn is_searchable(&mut self) -> Result<bool, StoreError> {
        self.view.is_searchable()
    }

    fn catalogue(
        &mut self,
        query: &CatalogueQuery,
    ) -> Result<Vec<(String, DocumentRow)>, StoreError> {
        let rows = self.view.catalogue(query);
        self.count(rows)
    }

    fn documents(&mut self, stream: &str) -> Result<Vec<DocumentRow>, StoreError> {
        let rows = self.view.documents(stream);
        self.count(rows)
    }

    fn events(&mut self, stream: &str, query: &EventQuery) -> Result<Vec<EventRow>, StoreError> {
        let rows = self.view.events(stream, query);
        self.count(rows)
    }

    fn shown(
        &mut self,
        stream: &str,
        query: &EventQuery,
    ) -> Result<Option<Vec<ShownRow>>, StoreError> {
        let shown = self.view.shown(stream, query)?;
        self.rows.fetch_add(shown.as_ref().map_or(0, Vec::len), Ordering::Relaxed);
        Ok(shown)
    }

    fn tail(&mut self, stream: &str, after: u64, limit: u32) -> Result<Vec<EventRow>, StoreError> {
        let rows = self.view.tail(stream, after, limit);
        self.count(rows)
    }
}

impl Store for Counting {
    fn begin(&self) -> Result<Box<dyn Transaction + '_>, StoreError> {
        self.store.begin()
    }

    fn is_free(&self) -> bool {
        self.store.is_free()
    }

    fn snapshot(&self) -> Result<Box<dyn StoreSnapshot + '_>, StoreError> {
        Ok(Box::new(CountingView { view: self.store.snapshot()?, rows: &self.rows }))
    }

    fn position(&self) -> Result<u64, StoreError> {
        self.store.position()
    }

    fn rest(&self) -> Result<(), StoreError> {
        self.store.rest()
    }

    fn backup(&self, target: &Path) -> Result<(), StoreError> {
        self.store.backup(target)
    }

    fn check(&self) -> Result<Vec<Damage>, StoreError> {
        self.store.check()
    }

    fn describe(&self) -> Description {
        self.store.describe()
    }
}

const VIEWS: [&str; 9] = [
    "tasks_radar",
    "tasks_resume",
    "tasks_resume_pack",
    "tasks_resume_super",
    "tasks_snapshot",
    "tasks_context_pack",
    "tasks_mirror",
    "tasks_handoff",
    "tasks_delta",
];

/// A workspace with one task that is looked at, and what its views read.
struct Desk {
    app: App,
    rows: Arc<AtomicUsize>,
}

impl Desk {
    fn open() -> Self {
        let rows = Arc::<AtomicUsize>::default();
        let store = Counting { store: MemoryStore::new(), rows: Arc::clone(&rows) };
        let clock = FixedClock::at(Timestamp(1_900_000_000_000));
        let options = AppOptions { toolset: Toolset::Full, ..AppOptions::default() };
        let app = App::over(Arc::new(store), Arc::new(clock), options);
        ok(&app, "tasks_create", json!({"title": "Plan"}));
        let desk = Self { app, rows };
        desk.add_task();
        desk.add_task();
        desk
    }

    fn add_task(&self) {
        let steps = json!([{"title": "One", "success_criteria": ["c"], "tests": ["t"]}]);
        self.say("tasks_create", json!({"parent": "PLAN-001", "title": "Task", "steps": steps}));
    }

    fn say(&self, name: &str, arguments: Value) {
        ok(&self.app, name, arguments);
    }

    /// Adds cards, steps and events to a task.
    fn work_on(&self, task: &str, rounds: usize) {
        for round in 0..rounds {
            let card = json!({"type": "decision", "title": format!("Card {round}")});
            self.say("think_card", json!({"task": task, "card": card}));
            self.say("tasks_note", json!({"task": task, "path": "s:0", "note": "seen"}));
            let step = json!([{"title": format!("Step {round}"), "success_criteria": ["c"]}]);
            self.say("tasks_decompose", json!({"task": task, "steps": step}));
        }
    }

    /// Rows that each view of the first task reads.
    fn read(&self) -> Vec<usize> {
        let read = |view: &&str| {
            let before = self.rows.load(Ordering::Relaxed);
            self.say(view, json!({"task": "TASK-001"}));
            self.rows.load(Ordering::Relaxed) - before
        };
        VIEWS.iter().map(read).collect()
    }
}

/// TASKS-PIT-41: the work of others costs nothing, and one's own at most its share.
#[test]
fn what_a_view_reads_does_not_grow_with_other_tasks_and_not_faster_than_its_own() {
    let desk = Desk::open();
    desk.work_on("TASK-001", 20);
    // The first look moves the focus, which is not reading.
    desk.read();
    let alone = desk.read();
    desk.work_on("TASK-002", 200);
    assert_eq!(desk.read(), alone, "after 800 events of another task: {VIEWS:?}");
    desk.work_on("TASK-001", 180);
    for ((view, few), many) in VIEWS.iter().zip(alone).zip(desk.read()) {
        assert!(few > 0, "{view} reads something");
        assert!(many <= few * 10, "{view}: ten times the work, {few} -> {many} rows");
    }
}
