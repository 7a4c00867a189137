//! One transaction over several streams: all of it or nothing, and one log without a gap.

use std::sync::{Arc, Barrier};

use muster_core::{
    Documents, Draft, WorkRefusal,
    tasks::{TaskAggregate, TaskCommand, id::PlanId, lookup},
};
use muster_store::{MemoryStore, StoreError};

use super::examine;
use super::{new_plan, over, sqlite};
use crate::Engine;

const ONE: &str = "workspace/one";
const TWO: &str = "workspace/two";

fn plans(engine: &Engine, stream: &str) -> u64 {
    let read = |docs: &Documents<TaskAggregate>| Ok(lookup::workspace(docs)?.plans.total());
    engine.read::<TaskAggregate, u64>(stream, read).unwrap()
}

/// Creates plans and returns the position of the last one.
fn create(
    count: usize,
) -> impl Fn(&mut Draft<'_, TaskAggregate>) -> Result<u64, WorkRefusal<TaskAggregate>> {
    move |draft| {
        let mut last = 0;
        for _ in 0..count {
            last = draft.apply(&new_plan("P"))?[0].global;
        }
        Ok(last)
    }
}

fn refuse(draft: &mut Draft<'_, TaskAggregate>) -> Result<u64, WorkRefusal<TaskAggregate>> {
    draft.apply(&new_plan("lost with the rest"))?;
    draft.apply(&TaskCommand::MoveFocus { to: Some(PlanId(9).into()) }).map(|_| 0)
}

#[test]
fn both_streams_are_written_or_neither() {
    let engine = over(MemoryStore::new());
    let both = engine.transact(|streams| {
        let Ok(one) = streams.on(ONE.to_owned(), create(2))? else { return Ok(Err("one")) };
        let Ok(two) = streams.on(TWO.to_owned(), create(1))? else { return Ok(Err("two")) };
        Ok(Ok((one, two)))
    });
    assert_eq!(both.unwrap(), Ok((2, 3)), "the second continues the log after the first");
    let refused = engine.transact::<(), _>(|streams| {
        let one = streams.on(ONE.to_owned(), create(1))?;
        assert_eq!(one, Ok(4));
        let two = streams.on(TWO.to_owned(), refuse)?;
        Ok(Err(two.is_err()))
    });
    assert_eq!(refused.unwrap(), Err(true));
    assert_eq!((plans(&engine, ONE), plans(&engine, TWO)), (2, 1));
    assert_eq!(engine.store().position().unwrap(), 3);
}

#[test]
fn a_refused_share_can_be_left_out() {
    let engine = over(MemoryStore::new());
    let kept = engine.transact::<u64, ()>(|streams| {
        let refused = streams.on(ONE.to_owned(), refuse)?;
        assert!(refused.is_err());
        Ok(streams.on(TWO.to_owned(), create(1))?.map_err(|_| ()))
    });
    assert_eq!(kept.unwrap(), Ok(1));
    assert_eq!((plans(&engine, ONE), plans(&engine, TWO)), (0, 1));
    let report = examine::<TaskAggregate>(&engine);
    assert_eq!((report.events, report.damage), (1, Vec::new()));
}

#[test]
fn one_stream_is_not_drafted_twice() {
    let engine = over(MemoryStore::new());
    let twice = engine.transact::<(), ()>(|streams| {
        assert!(streams.on(ONE.to_owned(), create(1))?.is_ok());
        assert!(streams.on(ONE.to_owned(), create(1))?.is_ok());
        Ok(Ok(()))
    });
    assert!(matches!(twice, Err(StoreError::Engine { .. })), "{twice:?}");
    assert_eq!(engine.store().position().unwrap(), 0);
}

#[test]
fn callers_of_both_kinds_share_one_gapless_log() {
    let dir = tempfile::tempdir().unwrap();
    let engine = Arc::new(sqlite(dir.path()));
    let barrier = Arc::new(Barrier::new(6));
    std::thread::scope(|scope| {
        for caller in 0..6 {
            let engine = Arc::clone(&engine);
            let barrier = Arc::clone(&barrier);
            scope.spawn(move || {
                barrier.wait();
                for _ in 0..15 {
                    if caller % 2 == 0 {
                        engine.execute::<TaskAggregate, _>(ONE.to_owned(), create(1)).unwrap();
                        continue;
                    }
                    let both = engine.transact::<(), ()>(|streams| {
                        assert!(streams.on(TWO.to_owned(), create(1))?.is_ok());
                        assert!(streams.on(ONE.to_owned(), create(2))?.is_ok());
                        Ok(Ok(()))
                    });
                    both.unwrap().unwrap();
                }
            });
        }
    });
    assert_eq!((plans(&engine, ONE), plans(&engine, TWO)), (135, 45));
    let report = examine::<TaskAggregate>(&engine);
    assert_eq!((report.events, report.damage), (180, Vec::new()));
}
