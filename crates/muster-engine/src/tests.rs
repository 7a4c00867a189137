//! The engine over real stores: durable replies, isolation inside a group, following a stream.

mod feed;
mod log_index;
mod sessions;
mod several_streams;
mod trees;

use std::{
    sync::{Arc, Barrier},
    time::{Duration, Instant},
};

use muster_core::{
    Address, Aggregate, CallFacts, Documents, Draft, WorkRefusal,
    tasks::{
        TaskAggregate, TaskCommand, TaskRejection,
        command::{CreatePlan, FieldsEdit},
        event::{EditKind, MetaPatch, OwnPatch},
        id::PlanId,
        lookup,
    },
};
use muster_store::{
    Append, DocumentChange, DocumentRow, EventRow, MemoryStore, SqliteOptions, SqliteStore, Store,
};

use crate::{Batch, Engine, ExecuteError, News, SystemClock, doctor::DoctorReport, survey};

const STREAM: &str = "workspace/test";

fn over(store: impl Store) -> Engine {
    Engine::new(Arc::new(store), Arc::new(SystemClock), false)
}

fn sqlite(dir: &std::path::Path) -> Engine {
    over(SqliteStore::open(dir, SqliteOptions::default()).unwrap())
}

/// What is wrong with the store and the streams of one room.
fn examine<A: Aggregate>(engine: &Engine) -> DoctorReport {
    let mut report = DoctorReport::of(engine.store()).unwrap();
    report.add::<A>(engine.store()).unwrap();
    report
}

fn new_plan(title: &str) -> TaskCommand {
    TaskCommand::CreatePlan(CreatePlan {
        title: title.to_owned(),
        description: None,
        contract: None,
        contract_data: None,
    })
}

/// Creates a plan and returns its global position.
fn create(engine: &Engine, title: &str) -> Result<u64, ExecuteError<TaskRejection>> {
    let command = new_plan(title);
    engine.execute::<TaskAggregate, u64>(STREAM.to_owned(), move |draft| {
        Ok(draft.apply(&command)?[0].global)
    })
}

fn rename(engine: &Engine, plan: PlanId, title: &str) {
    let meta = MetaPatch { title: Some(title.to_owned()), ..MetaPatch::default() };
    let own = OwnPatch::default();
    let manner = EditKind::Edit;
    let command = TaskCommand::Edit(FieldsEdit { id: plan.into(), meta, own, manner });
    let rename = move |draft: &mut Draft<'_, TaskAggregate>| draft.apply(&command).map(drop);
    engine.execute::<TaskAggregate, ()>(STREAM.to_owned(), rename).unwrap();
}

fn plans(engine: &Engine) -> u64 {
    let read = |docs: &Documents<TaskAggregate>| Ok(lookup::workspace(docs)?.plans.total());
    engine.read::<TaskAggregate, u64>(STREAM, read).unwrap()
}

#[test]
fn what_was_read_before_never_hides_what_another_process_wrote() {
    let dir = tempfile::tempdir().unwrap();
    let reader = sqlite(dir.path());
    let writer = sqlite(dir.path());
    let titles = |engine: &Engine| {
        let read = |docs: &Documents<TaskAggregate>| {
            let plans = docs.list(&muster_core::ListQuery::of("plan"))?;
            let titles = plans.iter().filter_map(|plan| plan.as_plan());
            Ok(titles.map(|plan| plan.meta.title.clone()).collect::<Vec<_>>())
        };
        engine.read::<TaskAggregate, _>(STREAM, read).unwrap()
    };
    for round in 1..=5_u64 {
        create(&writer, &format!("plan {round}")).unwrap();
        for engine in [&reader, &writer] {
            assert_eq!(plans(engine), round);
            assert_eq!(titles(engine).len() as u64, round);
        }
        rename(&writer, PlanId(1), &format!("renamed {round}"));
        for engine in [&reader, &writer] {
            assert_eq!(titles(engine)[0], format!("renamed {round}"));
        }
    }
}

#[test]
fn callers_at_once_all_land_in_one_gapless_log() {
    let dir = tempfile::tempdir().unwrap();
    let engine = sqlite(dir.path());
    let barrier = Barrier::new(8);
    std::thread::scope(|scope| {
        for caller in 0..8 {
            let engine = &engine;
            let barrier = &barrier;
            scope.spawn(move || {
                barrier.wait();
                for round in 0..20 {
                    create(engine, &format!("{caller} {round}")).unwrap();
                }
            });
        }
    });
    assert_eq!(plans(&engine), 160);
    let report = examine::<TaskAggregate>(&engine);
    assert_eq!((report.events, report.damage), (160, Vec::new()));
}

#[test]
fn a_rejected_or_empty_call_writes_nothing() {
    let engine = over(MemoryStore::new());
    create(&engine, "P").unwrap();
    let before = engine.store().position().unwrap();
    let focus = TaskCommand::MoveFocus { to: Some(PlanId(9).into()) };
    let outcome = engine.execute::<TaskAggregate, ()>(STREAM.to_owned(), move |draft| {
        draft.apply(&new_plan("lost with the rest"))?;
        draft.apply(&focus).map(|_| ())
    });
    assert!(matches!(outcome, Err(ExecuteError::Rejected(_))));
    let clear = TaskCommand::MoveFocus { to: None };
    engine
        .execute::<TaskAggregate, ()>(STREAM.to_owned(), move |draft| {
            draft.apply(&clear).map(|_| ())
        })
        .unwrap();
    assert_eq!(engine.store().position().unwrap(), before);
    assert_eq!(plans(&engine), 1);
}

#[test]
fn work_that_panics_harms_only_its_group() {
    let engine = over(MemoryStore::new());
    let outcome = engine.execute::<TaskAggregate, ()>(STREAM.to_owned(), |_| panic!("a defect"));
    assert!(matches!(outcome, Err(ExecuteError::Store(_))));
    create(&engine, "still alive").unwrap();
}

#[test]
fn work_is_asked_again_until_it_has_what_it_needs() {
    let engine = over(MemoryStore::new());
    create(&engine, "P").unwrap();
    let title =
        |draft: &mut Draft<'_, TaskAggregate>| -> Result<String, WorkRefusal<TaskAggregate>> {
            Ok(lookup::plan(draft.documents(), PlanId(1))?.meta.title.clone())
        };
    let answer = engine.execute::<TaskAggregate, String>(STREAM.to_owned(), title).unwrap();
    assert_eq!(answer, "P");
}

#[test]
fn doctor_tells_what_differs_from_the_log() {
    let store = MemoryStore::new();
    let engine = over(store);
    create(&engine, "P").unwrap();
    let mut documents = engine.store().snapshot().unwrap().documents(STREAM).unwrap();
    documents.retain(|row| row.address.kind == "plan");
    let forged = documents.pop().unwrap();
    let forged = DocumentRow { body: forged.body.replace("TODO", "DONE"), ..forged };
    let mut transaction = engine.store().begin().unwrap();
    let documents = [DocumentChange::Put(forged, None)];
    transaction.append(&Append { stream: STREAM, events: &[], documents: &documents }).unwrap();
    transaction.commit().unwrap();
    let report = examine::<TaskAggregate>(&engine);
    assert_eq!(report.damage.len(), 1, "{report:?}");
    assert!(report.damage[0].place.contains("PLAN-001"));
}

#[test]
fn doctor_checks_the_columns_that_lists_use() {
    let engine = over(MemoryStore::new());
    create(&engine, "P").unwrap();
    create(&engine, "Q").unwrap();
    let mut snapshot = engine.store().snapshot().unwrap();
    let events = snapshot.tail(STREAM, 0, 9).unwrap();
    let documents = snapshot.documents(STREAM).unwrap();
    let mut found_by = Vec::new();
    for row in &documents {
        let text = snapshot.searched(STREAM, &row.address).unwrap();
        found_by.extend(text.map(|text| DocumentChange::Search(row.address.clone(), text)));
    }
    assert_eq!(found_by.len(), 2, "two plans");
    let damage = |events: &[EventRow], documents: &[DocumentRow]| {
        let forged = over(MemoryStore::new());
        let put = documents.iter().map(|row| DocumentChange::Put(row.clone(), None));
        let documents: Vec<DocumentChange> = put.chain(found_by.iter().cloned()).collect();
        let mut transaction = forged.store().begin().unwrap();
        transaction.append(&Append { stream: STREAM, events, documents: &documents }).unwrap();
        transaction.commit().unwrap();
        let damage = examine::<TaskAggregate>(&forged).damage;
        damage.into_iter().map(|damage| damage.finding).collect::<Vec<_>>()
    };
    assert_eq!(damage(&events, &documents), Vec::<String>::new());
    let with = |change: fn(&mut EventRow)| {
        let mut events = events.clone();
        change(&mut events[1]);
        damage(&events, &documents).join("; ")
    };
    assert!(with(|event| event.kind = "other".to_owned()).contains("its kind is other"));
    assert!(with(|event| event.subject = None).contains("its subject is none"));
    let moved = with(|event| event.subject.as_mut().unwrap().scope.push('9'));
    assert!(moved.contains("its subject is"), "{moved}");
    let plan = documents.iter().position(|row| row.address.name == "PLAN-002").unwrap();
    for version in [1, 3] {
        let mut documents = documents.clone();
        documents[plan].version = version;
        let found = damage(&events, &documents).join("; ");
        assert!(found.contains(&format!("its version is {version}")), "{found}");
    }
}

#[test]
fn doctor_notices_what_a_search_would_not_find() {
    let engine = over(MemoryStore::new());
    create(&engine, "P").unwrap();
    let address = Address { kind: "plan".into(), name: "PLAN-001".to_owned() };
    let lost = [DocumentChange::Search(address, "plan-001\u{1f}q".to_owned())];
    let mut transaction = engine.store().begin().unwrap();
    transaction.append(&Append { stream: STREAM, events: &[], documents: &lost }).unwrap();
    transaction.commit().unwrap();
    let found = examine::<TaskAggregate>(&engine).damage;
    assert!(found.len() == 1 && found[0].finding.contains("--reindex"), "{found:?}");
    survey::rebuild::<TaskAggregate>(engine.store()).unwrap();
    assert_eq!(examine::<TaskAggregate>(&engine).damage, vec![]);
}

fn seqs(news: &News) -> Vec<u64> {
    match news {
        News::Events(batches) => {
            batches.iter().flat_map(Batch::frames).map(|(seq, _)| seq).collect()
        }
        other @ (News::Gap { .. } | News::End) => panic!("{other:?}"),
    }
}

#[test]
fn a_process_that_keeps_house_writes_on_one_thread() {
    let engine = Engine::new(Arc::new(MemoryStore::new()), Arc::new(SystemClock), true);
    let written = |title: &str| {
        let command = new_plan(title);
        let work = move |draft: &mut Draft<'_, TaskAggregate>| {
            draft.apply(&command)?;
            Ok(std::thread::current().id())
        };
        engine.execute::<TaskAggregate, _>(STREAM.to_owned(), work).unwrap()
    };
    let writers: Vec<_> = std::thread::scope(|scope| {
        let callers: Vec<_> = (0..8).map(|_| scope.spawn(|| written("at once"))).collect();
        callers.into_iter().map(|caller| caller.join().unwrap()).collect()
    });
    let alone = written("alone");
    assert!(writers.iter().all(|writer| *writer == alone), "{writers:?}");
    assert_ne!(alone, std::thread::current().id());
    assert_eq!(plans(&engine), 9);
}

#[tokio::test]
async fn a_write_that_no_thread_waits_for_is_done_whether_or_not_it_is_awaited() {
    let engine = Engine::new(Arc::new(MemoryStore::new()), Arc::new(SystemClock), true);
    let begin = |command: TaskCommand| {
        let work = move |draft: &mut Draft<'_, TaskAggregate>| Ok(draft.apply(&command)?[0].global);
        engine.begin_for::<TaskAggregate, u64>(CallFacts::default(), STREAM.to_owned(), work)
    };
    let begun: Vec<_> = (0..4).map(|number| begin(new_plan(&number.to_string()))).collect();
    drop(begin(new_plan("not awaited")));
    let refused = begin(TaskCommand::MoveFocus { to: Some(PlanId(9).into()) }).await;
    assert!(matches!(refused, Err(ExecuteError::Rejected(_))), "{refused:?}");
    for (outcome, position) in begun.into_iter().zip(1..) {
        assert_eq!(outcome.await, Ok(position));
    }
    assert_eq!(plans(&engine), 5, "each is durable before the one after it is answered");
    let broken =
        engine.begin_for::<TaskAggregate, ()>(CallFacts::default(), STREAM.to_owned(), |_| {
            panic!("a defect")
        });
    assert!(matches!(broken.await, Err(ExecuteError::Store(_))));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_follower_sees_snapshot_then_tail_without_gap() {
    let engine = over(MemoryStore::new());
    create(&engine, "before").unwrap();
    let read = |docs: &Documents<TaskAggregate>| Ok(lookup::workspace(docs)?.plans.total());
    let (count, head) = engine.read_at::<TaskAggregate, u64>(STREAM, read).unwrap();
    assert_eq!((count, head.seq), (1, 1));
    create(&engine, "between").unwrap();
    let mut follower = feed::follow(&engine, head.seq);
    assert_eq!(seqs(&follower.next().await.unwrap()), [2]);
    let waiting = tokio::spawn(async move { follower.next().await });
    create(&engine, "after").unwrap();
    assert_eq!(seqs(&waiting.await.unwrap().unwrap()), [3]);
}

#[tokio::test(flavor = "multi_thread")]
async fn commits_of_another_engine_on_the_same_file_are_seen_soon() {
    let dir = tempfile::tempdir().unwrap();
    let here = sqlite(dir.path());
    let there = sqlite(dir.path());
    create(&there, "first").unwrap();
    let mut follower = feed::follow(&here, 0);
    assert_eq!(seqs(&follower.next().await.unwrap()), [1]);
    let mut slowest = Duration::ZERO;
    for round in 0..10 {
        let waiting = tokio::spawn(async move {
            let news = follower.next().await;
            (follower, news, Instant::now())
        });
        create(&there, &format!("round {round}")).unwrap();
        let committed = Instant::now();
        let (returned, news, seen) = waiting.await.unwrap();
        follower = returned;
        assert_eq!(seqs(&news.unwrap()), [round + 2]);
        slowest = slowest.max(seen.saturating_duration_since(committed));
    }
    // 100 ms on a quiet machine; the bound here leaves room for a busy one.
    assert!(slowest < Duration::from_secs(2), "{slowest:?}");
}
