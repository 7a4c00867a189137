//! Random histories on SQLite and on PostgreSQL: the same answers, apart from positions.

use std::borrow::Cow;

use muster_core::{Address, Index, Mark, Subject, Timestamp};
use proptest::{
    collection::vec,
    prelude::{Just, Strategy, any},
    prop_oneof,
    sample::select,
    test_runner::{Config, TestRunner},
};

use super::{PostgresServer, open};
use crate::{
    Append, DocumentChange, DocumentPieces, DocumentRow, EventRow, LogEnd, SqliteOptions,
    SqliteStore, Store, StoreSnapshot, Transaction,
};

const STREAMS: [&str; 3] = ["workspace/acme", "session/one", "run/one"];
const CASES: u32 = 60;

/// What one transaction does to a stream.
#[derive(Clone, Debug)]
enum Act {
    Append { stream: &'static str, events: u8, changes: Vec<DocumentChange> },
    End { stream: &'static str },
}

/// How a transaction ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    Committed,
    Dropped,
}

fn address() -> impl Strategy<Value = Address> {
    (select(&["plan", "task"][..]), 0..4_u8)
        .prop_map(|(kind, number)| Address { kind: Cow::Borrowed(kind), name: number.to_string() })
}

fn row() -> impl Strategy<Value = DocumentRow> {
    (address(), 0..9_u64, any::<u8>()).prop_map(|(address, ord, body)| {
        let index = Index { ord, marks: Mark::Listed as u8, ..Index::default() };
        DocumentRow { address, index, version: 1, body: body.to_string() }
    })
}

fn change() -> impl Strategy<Value = DocumentChange> {
    let pieces = (row(), vec(any::<u8>(), 1..4)).prop_map(|(first, rest)| {
        let rest = rest.into_iter().map(|piece| Some(piece.to_string())).collect();
        DocumentChange::PutPieces(DocumentPieces { first, rest, brief: Some("brief".to_owned()) })
    });
    prop_oneof![
        4 => row().prop_map(|row| DocumentChange::Put(row, Some("whole".to_owned()))),
        2 => pieces,
        1 => address().prop_map(DocumentChange::Remove),
        2 => (address(), "[a-cß]{0,6}")
            .prop_map(|(address, text)| DocumentChange::Search(address, text)),
    ]
}

fn act() -> impl Strategy<Value = Act> {
    let append = (select(&STREAMS[..]), 1..4_u8, vec(change(), 0..5))
        .prop_map(|(stream, events, changes)| Act::Append { stream, events, changes });
    prop_oneof![9 => append, 1 => select(&STREAMS[..]).prop_map(|stream| Act::End { stream })]
}

fn transaction() -> impl Strategy<Value = (Vec<Act>, Outcome)> {
    let outcome = prop_oneof![4 => Just(Outcome::Committed), 1 => Just(Outcome::Dropped)];
    (vec(act(), 1..4), outcome)
}

fn event(global: u64, seq: u64) -> EventRow {
    EventRow {
        global,
        seq,
        at: Timestamp(7),
        kind: "noted".to_owned(),
        subject: (!seq.is_multiple_of(3))
            .then(|| Subject { entity: "TASK-1".to_owned(), scope: "PLAN-1".to_owned() }),
        body: format!("{{\"n\":{seq}}}"),
        shown: None,
        by: None,
        intent: None,
    }
}

/// Does it; the answer says whether it was refused.
fn perform(transaction: &mut dyn Transaction, act: &Act) -> bool {
    let (Act::Append { stream, .. } | Act::End { stream }) = act;
    let head = transaction.head(stream).unwrap();
    let next = |number: u64| event(head.global + number, head.seq + number);
    match act {
        Act::Append { events, changes, .. } => {
            let events: Vec<EventRow> = (1..=u64::from(*events)).map(next).collect();
            transaction.append(&Append { stream, events: &events, documents: changes }).is_err()
        }
        Act::End { .. } => {
            transaction.end(&Append { stream, events: &[next(1)], documents: &[] }).is_err()
        }
    }
}

/// Everything that can be read, with numbers in place of positions.
fn read(view: &mut dyn StoreSnapshot) -> Vec<String> {
    let mut read = vec![format!("{:?}", view.streams("").unwrap())];
    for stream in STREAMS {
        let tail = view.tail(stream, 0, 1_000).unwrap().into_iter();
        read.extend(tail.map(|row| format!("{:?}", EventRow { global: 0, ..row })));
        for row in view.documents(stream).unwrap() {
            let brief = view.brief(stream, &row.address).unwrap();
            let searched = view.searched(stream, &row.address).unwrap();
            read.push(format!("{row:?} {brief:?} {searched:?}"));
        }
        for kind in ["plan", "task"] {
            for text in ["a", "ab", "abc", "ß"] {
                let query = muster_core::ListQuery::of(kind);
                let found = view.search(stream, &query, text).unwrap();
                read.push(format!("{stream} {kind} {text} {found:?}"));
            }
        }
    }
    read.push(format!("{}", view.unindexed(LogEnd::Oldest, 1_000).unwrap().len()));
    read
}

#[test]
#[ignore = "needs PostgreSQL"]
fn random_histories_are_the_same_on_both_engines() {
    let server = PostgresServer::start();
    let mut runner =
        TestRunner::new(Config { cases: CASES, failure_persistence: None, ..Config::default() });
    let number = std::cell::Cell::new(0);
    let outcome = runner.run(&vec(transaction(), 1..12), |transactions| {
        number.set(number.get() + 1);
        let home = tempfile::tempdir().unwrap();
        let sqlite = SqliteStore::open(home.path(), SqliteOptions::default()).unwrap();
        let postgres = open(&server.database(&format!("history{}", number.get())));
        let stores: [&dyn Store; 2] = [&sqlite, &postgres];
        for (acts, outcome) in &transactions {
            let answers = stores.map(|store| {
                let mut transaction = store.begin().unwrap();
                let refused: Vec<bool> =
                    acts.iter().map(|act| perform(&mut *transaction, act)).collect();
                let own = read(&mut *transaction);
                if *outcome == Outcome::Committed {
                    transaction.commit().unwrap();
                }
                (refused, own, read(&mut *store.snapshot().unwrap()), store.position().unwrap())
            });
            assert_eq!(answers[0], answers[1]);
        }
        for store in stores {
            assert_eq!(store.check().unwrap(), vec![]);
        }
        Ok(())
    });
    outcome.unwrap();
}
