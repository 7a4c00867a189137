//! The list of one kind of document over all streams.

use muster_core::{Index, Mark};

use super::{document, event, write};
use crate::{Append, CatalogueQuery, DocumentChange, Store};

fn catalogued(ord: u64) -> Index {
    Index { ord, marks: Mark::Catalogued as u8, ..Index::default() }
}

/// Streams with one document each; the sort numbers come in pairs, and every third is not marked.
fn fill(store: &dyn Store, streams: u64) {
    for number in 1..=streams {
        let index = if number % 3 == 0 { Index::default() } else { catalogued(number / 2) };
        let put = [DocumentChange::Put(document("ONE", number, index), None)];
        write(store, &format!("session/{number}"), &[event(store, number, 1, None)], &put);
    }
}

fn names(store: &dyn Store, below: Option<u64>, limit: Option<u32>) -> Vec<String> {
    let query = CatalogueQuery { kind: "task", below, limit };
    let found = store.snapshot().unwrap().catalogue(&query).unwrap();
    found.into_iter().map(|(stream, _)| stream).collect()
}

pub(super) fn the_catalogue_holds_what_is_marked_newest_first(store: &dyn Store) {
    fill(store, 8);
    let all = ["session/8", "session/7", "session/5", "session/4", "session/2", "session/1"];
    assert_eq!(names(store, None, None), all);
    assert_eq!(names(store, None, Some(2)), all[..2]);
    assert_eq!(names(store, Some(3), None), all[2..], "sort numbers below three");
    assert_eq!(names(store, Some(0), None), Vec::<String>::new());
    let query = CatalogueQuery { kind: "plan", below: None, limit: None };
    assert_eq!(store.snapshot().unwrap().catalogue(&query).unwrap(), vec![]);
    // A change of the document leaves it where it is, whole.
    let row = document("ONE", 9, catalogued(2));
    let put = [DocumentChange::Put(row.clone(), None)];
    write(store, "session/4", &[event(store, 9, 2, None)], &put);
    let query = CatalogueQuery { kind: "task", below: Some(3), limit: Some(2) };
    let found = store.snapshot().unwrap().catalogue(&query).unwrap();
    assert_eq!(found[1], ("session/4".to_owned(), row));
}

pub(super) fn an_end_leaves_the_catalogue(store: &dyn Store) {
    fill(store, 5);
    let mut transaction = store.begin().unwrap();
    let stream = "session/4";
    let events = [event(store, 6, 2, None)];
    transaction.end(&Append { stream, events: &events, documents: &[] }).unwrap();
    transaction.commit().unwrap();
    assert_eq!(names(store, None, None), ["session/5", "session/2", "session/1"]);
}
