//! Sessions over real stores: documents loaded piece by piece equal a replay, and a deleted session
//! leaves only its end event.

use std::path::Path;

use muster_core::{
    Documents, Draft, WorkRefusal,
    session::{
        SessionAggregate, SessionCommand, SessionCommandResult, SessionEvent, SessionId,
        SessionRejection,
        command::{Create, Record, RecordOrigin, SessionInput, SessionOrder, WriteTodos},
        entity::SessionDriver,
        perform, view,
    },
    tasks::{TaskAggregate, id::PlanId, lookup},
    todo::WrittenList,
};
use muster_store::{CatalogueQuery, MemoryStore, StoreError};
use serde_json::{Value, json};

use super::examine;
use super::{new_plan, over, sqlite};
use crate::{Engine, ExecuteError, doctor::DoctorReport, transfer};

pub(super) fn id(number: u128) -> SessionId {
    SessionId::from_bits(number)
}

pub(super) fn act(
    engine: &Engine,
    session: &SessionId,
    command: SessionCommand,
) -> Result<SessionCommandResult, ExecuteError<SessionRejection>> {
    engine.execute::<SessionAggregate, _>(session.stream(), move |draft| perform(draft, &command))
}

pub(super) fn record(kind: &str, data: Value) -> SessionCommand {
    let Value::Object(data) = data else { panic!("{data} is not an object") };
    SessionCommand::Record(Box::new(Record::of(RecordOrigin::Outside, kind, data)))
}

pub(super) fn say(text: &str) -> SessionCommand {
    SessionCommand::Input(SessionInput { text: text.to_owned(), source: None, key: None })
}

pub(super) fn write(title: &str) -> SessionCommand {
    let titles = WrittenList::of_titles(&[title.to_owned()]).unwrap();
    SessionCommand::WriteTodos(WriteTodos { list: titles, expected_revision: None, key: None })
}

/// A long and mixed session.
pub(super) fn live(engine: &Engine, session: &SessionId) {
    let create = Create { title: Some("long".to_owned()), ..Create::default() };
    act(engine, session, SessionCommand::Create(Box::new(create))).unwrap();
    for round in 0..40 {
        act(engine, session, say(&format!("question {round}"))).unwrap();
        act(engine, session, record("turn_start", json!({}))).unwrap();
        let call = json!({"call_id": round, "tool": "shell"});
        act(engine, session, record("tool_call", call)).unwrap();
        let text = "x".repeat(round * 100);
        let todo = json!({"op": "upsert", "title": round.to_string(), "scope": round % 3});
        let result = json!({"call_id": round, "result": text, "todo": todo});
        act(engine, session, record("tool_result", result)).unwrap();
        let task = json!({"task_id": round % 5, "status": "running", "description": "d"});
        act(engine, session, record("task_event", task)).unwrap();
        act(engine, session, say("waits")).unwrap();
        act(engine, session, record("turn_end", json!({}))).unwrap();
        act(engine, session, write(&format!("item {round}"))).unwrap();
    }
    let pin = SessionOrder::Pin { node: muster_core::ctree::NodeId::numbered(3), pinned: true };
    let control = muster_core::session::command::SessionControl { order: pin, by: None, key: None };
    act(engine, session, SessionCommand::Control(control)).unwrap();
}

fn ctrees(engine: &Engine, session: &SessionId) -> Value {
    json!(engine.read::<SessionAggregate, _>(&session.stream(), view::ctrees).unwrap())
}

fn healthy(engine: &Engine) -> DoctorReport {
    let report = examine::<SessionAggregate>(engine);
    assert_eq!(report.damage, []);
    report
}

#[test]
fn a_session_in_a_file_equals_its_replay() {
    let dir = tempfile::tempdir().unwrap();
    let engine = sqlite(dir.path());
    live(&engine, &id(1));
    let report = healthy(&engine);
    assert!(report.events > 600 && report.documents > 400, "{report:?}");
    let summary = ctrees(&engine, &id(1));
    assert!(summary["collapse"]["dropped"].as_u64().unwrap() > 10, "{summary}");
    drop(engine);
    let engine = sqlite(dir.path());
    assert_eq!(ctrees(&engine, &id(1)), summary, "after a restart");
    let memory = over(MemoryStore::new());
    live(&memory, &id(1));
    for section in ["snapshot", "compiler", "collapse", "last_node"] {
        assert_eq!(ctrees(&memory, &id(1))[section], summary[section], "on another machine");
    }
}

#[test]
fn an_ended_session_is_gone_but_for_its_end() {
    let dir = tempfile::tempdir().unwrap();
    let engine = sqlite(dir.path());
    let gone = id(1);
    let stays = id(2);
    live(&engine, &gone);
    act(&engine, &stays, SessionCommand::Create(Box::default())).unwrap();
    let head = engine.store().snapshot().unwrap().head(&gone.stream()).unwrap().seq;
    act(&engine, &gone, SessionCommand::End).unwrap();
    let mut snapshot = engine.store().snapshot().unwrap();
    let rest = snapshot.tail(&gone.stream(), 0, 10).unwrap();
    assert_eq!(rest.len(), 1);
    assert_eq!((rest[0].seq, rest[0].kind.as_str()), (head + 1, "session.ended"));
    assert_eq!(snapshot.documents(&gone.stream()).unwrap().len(), 1);
    drop(snapshot);
    let other = sqlite(dir.path());
    for engine in [&engine, &other] {
        for command in
            [say("still there?"), SessionCommand::Create(Box::default()), SessionCommand::End]
        {
            let refused = act(engine, &gone, command).unwrap_err();
            assert_eq!(refused, ExecuteError::Rejected(Box::new(SessionRejection::SessionEnded)));
        }
        let read = engine.read::<SessionAggregate, _>(&gone.stream(), view::todo_read).unwrap_err();
        assert_eq!(read, ExecuteError::Rejected(Box::new(SessionRejection::SessionEnded)));
        assert_eq!(sessions(engine), [stays.to_string()]);
    }
    healthy(&engine);
    let mut lines = 0;
    let export = |stream: &str, lines: &mut u64| {
        transfer::export::<SessionAggregate>(engine.store(), stream, &mut |_| {
            *lines += 1;
            Ok(())
        })
    };
    assert!(matches!(
        export(&gone.stream(), &mut lines),
        Err(transfer::TransferError::Ended { .. })
    ));
    assert_eq!(export(&stays.stream(), &mut lines).unwrap(), lines);
}

fn sessions(engine: &Engine) -> Vec<String> {
    let query = CatalogueQuery { kind: "session", below: None, limit: None };
    let found = engine.catalogue::<SessionAggregate>(&query).unwrap();
    let object = |(stream, document): &(String, muster_core::session::SessionDocument)| {
        document.as_session()?;
        Some(SessionId::of_stream(stream)?.to_string())
    };
    found.iter().filter_map(object).collect()
}

#[test]
fn sessions_are_listed_newest_first() {
    let engine = over(MemoryStore::new());
    for number in 1..=5 {
        act(&engine, &id(number), SessionCommand::Create(Box::default())).unwrap();
    }
    act(&engine, &id(2), say("hello")).unwrap();
    let expected: Vec<String> = (1..=5).rev().map(|number| id(number).to_string()).collect();
    assert_eq!(sessions(&engine), expected);
}

/// A task tool that is used inside a session: both streams change, or none.
fn work_in(engine: &Engine, session: &SessionId, title: &str) -> Result<u64, String> {
    let stream = session.stream();
    let command = new_plan(title);
    let title = title.to_owned();
    let both = engine.transact::<u64, String>(move |streams| {
        let plan = streams.on::<TaskAggregate, _>("workspace/acme".to_owned(), |draft| {
            draft.apply(&command)?;
            Ok(lookup::workspace(draft.documents())?.plans.total())
        })?;
        let Ok(plan) = plan else { return Ok(Err("no plan".to_owned())) };
        let task = muster_core::session::body::TaskEventBody {
            kind: "plan.created".to_owned(),
            task_id: PlanId(plan).to_string(),
            status: "pending".to_owned(),
            description: Some(title.clone()),
            ..Default::default()
        };
        let report = SessionCommand::ReportTask(task);
        let outcome =
            streams.on::<SessionAggregate, _>(stream.clone(), |draft| perform(draft, &report))?;
        Ok(outcome.map(|done| done.receipt.seq).map_err(|rejection| format!("{rejection:?}")))
    });
    both.unwrap()
}

#[test]
fn a_task_tool_inside_a_session_shows_in_its_stream_or_nothing_happens() {
    let engine = over(MemoryStore::new());
    act(&engine, &id(1), SessionCommand::Create(Box::default())).unwrap();
    assert_eq!(work_in(&engine, &id(1), "first"), Ok(4));
    let plans = |docs: &Documents<TaskAggregate>| Ok(lookup::workspace(docs)?.plans.total());
    let plans = || engine.read::<TaskAggregate, u64>("workspace/acme", plans).unwrap();
    assert_eq!(plans(), 1);
    act(&engine, &id(1), SessionCommand::End).unwrap();
    assert_eq!(work_in(&engine, &id(1), "second"), Err("SessionEnded".to_owned()));
    assert_eq!(plans(), 1);
    assert_eq!(examine::<TaskAggregate>(&engine).damage, []);
    healthy(&engine);
}

#[test]
fn a_session_and_its_first_list_are_one_transaction() {
    let engine = over(MemoryStore::new());
    let make = |draft: &mut Draft<'_, SessionAggregate>| {
        perform(draft, &SessionCommand::Create(Box::default()))?;
        perform(draft, &write("first"))
    };
    let done = engine.execute::<SessionAggregate, _>(id(1).stream(), make).unwrap();
    assert_eq!(done.receipt.todo.unwrap().revision, 1);
    assert_eq!(engine.store().position().unwrap(), done.receipt.seq + 3);
}

fn costs(dir: &Path, nodes: u64) -> Result<(Engine, SessionId), StoreError> {
    let engine = sqlite(dir);
    let session = id(7);
    let driver = SessionDriver { phase: "p".to_owned(), status: "s".to_owned() };
    let create = Create { driver: Some(driver), ..Create::default() };
    act(&engine, &session, SessionCommand::Create(Box::new(create))).unwrap();
    act(&engine, &session, record("turn_start", json!({}))).unwrap();
    let grow =
        |draft: &mut Draft<'_, SessionAggregate>| -> Result<(), WorkRefusal<SessionAggregate>> {
            for number in 0..10 {
                let call = json!({"call_id": "c", "tool": "t", "call": {"arguments": number}});
                perform(draft, &record("tool_call", call))?;
                perform(draft, &record("tool_result", json!({"call_id": "c", "result": "fine"})))?;
            }
            perform(draft, &record("turn_start", json!({}))).map(drop)
        };
    while engine.store().position()? < nodes * 2 {
        engine.execute::<SessionAggregate, _>(session.stream(), grow).unwrap();
    }
    Ok((engine, session))
}

/// CPU time of this thread, whatever else the machine does.
fn busy_ns() -> u64 {
    let spent = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    spent.split(' ').next().unwrap().parse().unwrap()
}

/// Prints figures: cargo nextest run -p muster-engine --release --run-ignored only.
#[test]
#[ignore = "takes a minute; prints figures"]
fn figures_of_small_and_large_sessions() {
    for nodes in [1_000, 10_000, 50_000] {
        let dir = tempfile::tempdir().unwrap();
        let (engine, session) = costs(dir.path(), nodes).unwrap();
        let time = |name: &str, what: &mut dyn FnMut()| {
            let mut times: Vec<u64> = (0..41)
                .map(|_| {
                    let started = busy_ns();
                    what();
                    (busy_ns() - started) / 1_000
                })
                .collect();
            times.sort_unstable();
            let half = times[20];
            let most = times[38];
            println!("{nodes:>7} nodes  {name:<14} p50 {half:>6} us  p95 {most:>6} us of work");
        };
        let say = || record("assistant_message", json!({"text": "a short answer"}));
        time("append", &mut || drop(act(&engine, &session, say()).unwrap()));
        time("todo_write", &mut || drop(act(&engine, &session, write("x")).unwrap()));
        time("turn_start", &mut || {
            drop(act(&engine, &session, record("turn_start", json!({}))).unwrap());
        });
        time("summary", &mut || drop(ctrees(&engine, &session)));
        time("text of 8,000", &mut || {
            let read = |docs: &Documents<SessionAggregate>,
                        tree: &muster_core::ctree::ContextTree| {
                view::tree_text(docs, tree, Some(8_000))
            };
            drop(engine.read_tree(&session, read).unwrap());
        });
        time("object", &mut || {
            let read = |docs: &Documents<SessionAggregate>| view::object(docs, &id(7));
            drop(engine.read::<SessionAggregate, _>(&session.stream(), read).unwrap());
        });
    }
}

/// The event of a row, to see that rows can be read without the room.
#[test]
fn rows_of_the_log_are_events_of_the_session() {
    let engine = over(MemoryStore::new());
    act(&engine, &id(1), SessionCommand::Create(Box::default())).unwrap();
    let rows = engine.store().snapshot().unwrap().tail(&id(1).stream(), 0, 9).unwrap();
    for row in rows {
        let event: SessionEvent = serde_json::from_str(&row.body).unwrap();
        assert_eq!(event.kind, row.kind);
        let envelope =
            muster_core::session::encode_row(&id(1), row.seq, row.at, &row.body).unwrap();
        let envelope: Value = serde_json::from_str(&envelope).unwrap();
        assert_eq!(envelope["type"], row.kind);
    }
}
