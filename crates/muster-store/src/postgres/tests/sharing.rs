//! Several servers, each with a store of its own, on one database.

use std::{
    sync::{Barrier, mpsc},
    thread,
    time::Duration,
};

use super::{PostgresServer, open, open_as, servers::append};
use crate::{Store, StoreAccess, StoreError};

const SERVERS: usize = 3;
const ROUNDS: u64 = 40;

#[test]
#[ignore = "needs PostgreSQL"]
fn numbers_of_a_stream_have_no_gaps_whoever_writes() {
    let server = PostgresServer::start();
    let address = server.database("shared");
    let stores: Vec<_> = (0..SERVERS).map(|_| open(&address)).collect();
    thread::scope(|scope| {
        for store in &stores {
            for writer in 0..3 {
                scope.spawn(move || {
                    let own = format!("session/{writer}");
                    for round in 0..ROUNDS {
                        let stream = if round % 2 == 0 { "workspace/hot" } else { &own };
                        append(store, stream).unwrap();
                    }
                });
            }
        }
    });
    let written = 3 * SERVERS as u64 * ROUNDS;
    for store in &stores {
        assert_eq!(store.position().unwrap(), written);
        let mut view = store.snapshot().unwrap();
        let mut total = 0;
        for stream in view.streams("").unwrap() {
            let tail = view.tail(&stream.name, 0, 10_000).unwrap();
            assert!(tail.iter().map(|event| event.seq).eq(1..=stream.seq), "{}", stream.name);
            total += stream.seq;
        }
        assert_eq!(total, written);
    }
    assert_eq!(stores[0].check().unwrap(), vec![]);
}

#[test]
#[ignore = "needs PostgreSQL"]
fn streams_do_not_wait_for_each_other_but_writers_of_one_do() {
    let server = PostgresServer::start();
    let address = server.database("locks");
    let one = open(&address);
    let two = open(&address);
    let mut held = one.begin().unwrap();
    assert_eq!(held.head("workspace/one").unwrap().seq, 0);
    append(&two, "workspace/two").unwrap();
    let (sender, receiver) = mpsc::channel();
    thread::scope(|scope| {
        scope.spawn(|| sender.send(append(&two, "workspace/one").unwrap()).unwrap());
        assert!(receiver.recv_timeout(Duration::from_millis(100)).is_err(), "it waits");
        assert_eq!(two.snapshot().unwrap().head("workspace/one").unwrap().seq, 0, "readers do not");
        drop(held);
        assert_eq!(receiver.recv().unwrap().seq, 1);
    });
}

#[test]
#[ignore = "needs PostgreSQL"]
fn a_writer_that_others_wait_for_in_a_circle_may_try_again() {
    let server = PostgresServer::start();
    let address = server.database("circle");
    let stores = [open(&address), open(&address)];
    for stream in ["run/a", "run/b"] {
        append(&stores[0], stream).unwrap();
    }
    let both = Barrier::new(2);
    let meet = |store: &dyn Store, first: &str, second: &str| {
        let mut transaction = store.begin().unwrap();
        transaction.head(first).unwrap();
        both.wait();
        transaction.head(second).map(drop)
    };
    let met = thread::scope(|scope| {
        let other = scope.spawn(|| meet(&stores[0], "run/a", "run/b"));
        [meet(&stores[1], "run/b", "run/a"), other.join().unwrap()]
    });
    let lost: Vec<StoreError> = met.into_iter().filter_map(Result::err).collect();
    assert!(matches!(lost.as_slice(), [StoreError::Conflict { .. }]), "{lost:?}");
    assert_eq!(append(&stores[0], "run/a").unwrap().seq, 2);
}

#[test]
#[ignore = "needs PostgreSQL"]
fn many_can_create_the_same_store_at_once() {
    let server = PostgresServer::start();
    let address = server.database("born");
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| append(&open(&address), "workspace/acme").unwrap());
        }
    });
    let store = open_as(&address, StoreAccess::Look).unwrap();
    assert_eq!(store.position().unwrap(), 8);
}
