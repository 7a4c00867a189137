//! Several threads, and several snapshots at once.

use std::{sync::mpsc, thread};

use super::{STREAM, at, event, head, write};
use crate::{Append, Store};

pub(super) fn writers_take_turns(store: &dyn Store) {
    const WRITERS: u64 = 4;
    const ROUNDS: u64 = 25;
    thread::scope(|scope| {
        for writer in 0..WRITERS {
            scope.spawn(move || {
                let stream = format!("session/{writer}");
                for _ in 0..ROUNDS {
                    let mut transaction = store.begin().unwrap();
                    let head = transaction.head(&stream).unwrap();
                    let events = [event(store, head.global + 1, head.seq + 1, None)];
                    let append = Append { stream: &stream, events: &events, documents: &[] };
                    transaction.append(&append).unwrap();
                    transaction.commit().unwrap();
                }
            });
        }
    });
    assert_eq!(store.position().unwrap(), WRITERS * ROUNDS);
    for writer in 0..WRITERS {
        assert_eq!(head(store, &format!("session/{writer}")).seq, ROUNDS);
    }
    assert_eq!(store.check().unwrap(), vec![]);
}

pub(super) fn the_position_follows_other_threads(store: &dyn Store) {
    let (sender, receiver) = mpsc::channel();
    thread::scope(|scope| {
        scope.spawn(move || {
            for number in 1..=20 {
                write(store, STREAM, &[event(store, number, number, None)], &[]);
                sender.send(number).unwrap();
            }
        });
        for number in receiver {
            assert!(store.position().unwrap() >= number, "a commit is seen once it is done");
        }
    });
    assert_eq!(store.position().unwrap(), 20);
}

pub(super) fn more_snapshots_than_readers_can_be_open_at_once(store: &dyn Store) {
    write(store, STREAM, &[event(store, 1, 1, None)], &[]);
    let mut views: Vec<_> = (0..9).map(|_| store.snapshot().unwrap()).collect();
    for view in &mut views {
        assert_eq!(view.head(STREAM).unwrap(), at(store, 1, 1));
    }
    drop(views);
    assert_eq!(head(store, STREAM), at(store, 1, 1));
}
