//! The index of what events say is kept up when there is nothing else to do.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use muster_core::{
    SearchTopic, SearchWords,
    session::{SessionAggregate, SessionCommand, SessionId, command::Create, perform},
};
use muster_store::{SqliteOptions, SqliteStore, StringsQuery};

use super::sqlite;
use crate::{Engine, SystemClock, log_index, log_index::StoreSearch};

const SESSIONS: u128 = 300;
const WAIT_MAX: Duration = Duration::from_secs(30);

fn fill(engine: &Engine) {
    for number in 0..SESSIONS {
        let title = Some(format!("Talk {number} about cellars"));
        let create = Create { title, ..Create::default() };
        let command = SessionCommand::Create(Box::new(create));
        let id = SessionId::from_bits(number);
        let work =
            move |draft: &mut muster_core::Draft<'_, SessionAggregate>| perform(draft, &command);
        engine.execute::<SessionAggregate, _>(id.stream(), work).unwrap();
    }
}

fn unindexed(engine: &Engine) -> u64 {
    engine.store().snapshot().unwrap().unindexed_count().unwrap()
}

/// How many sessions a search finds.
fn found(engine: &Engine, text: &str) -> usize {
    let strings = SearchWords::of(text).unwrap().indexed().unwrap();
    let query = StringsQuery { strings: &strings, stream: None, limit: 1_000 };
    let mut search = StoreSearch::begin(engine.store()).unwrap();
    assert_eq!(search.unsearched(), 0);
    search.events(SearchTopic::Session, &query).unwrap().len()
}

#[test]
fn events_are_found_before_they_are_indexed_while_they_are_and_after() {
    let dir = tempfile::tempdir().unwrap();
    let engine = sqlite(dir.path());
    fill(&engine);
    let written = engine.store().position().unwrap();
    assert_eq!(unindexed(&engine), written, "a short-lived process indexes nothing");
    assert_eq!((found(&engine, "cellars"), found(&engine, "talk 299")), (300, 1));
    while log_index::advance(engine.store()).unwrap() > 0 {}
    assert_eq!(unindexed(&engine), 0);
    assert_eq!((found(&engine, "cellars"), found(&engine, "talk 299")), (300, 1));
    let create = Create { title: Some("one more of cellars".to_owned()), ..Create::default() };
    let command = SessionCommand::Create(Box::new(create));
    let id = SessionId::from_bits(SESSIONS);
    let work = move |draft: &mut muster_core::Draft<'_, SessionAggregate>| perform(draft, &command);
    engine.execute::<SessionAggregate, _>(id.stream(), work).unwrap();
    assert_eq!(found(&engine, "cellars"), 301, "from the index and from the log");
}

#[test]
fn a_process_with_housekeeping_indexes_when_it_is_idle() {
    let dir = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(dir.path(), SqliteOptions::default()).unwrap();
    let engine = Engine::new(Arc::new(store), Arc::new(SystemClock), true);
    fill(&engine);
    let started = Instant::now();
    while unindexed(&engine) > 0 {
        assert!(started.elapsed() < WAIT_MAX, "{} are left", unindexed(&engine));
        std::thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(found(&engine, "cellars"), 300);
}
