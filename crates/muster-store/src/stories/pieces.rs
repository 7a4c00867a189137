//! Documents whose bodies are written in pieces.

use muster_core::{Index, ListQuery, Mark};

use super::{STREAM, address, document, event, write};
use crate::{Append, DocumentChange, DocumentPieces, DocumentRow, Store};

fn listed() -> Index {
    Index { marks: Mark::Listed as u8, ..Index::default() }
}

/// Writes the next event with a document in pieces.
fn put(store: &dyn Store, number: u64, first: &str, rest: &[Option<&str>]) {
    let first = DocumentRow { body: first.to_owned(), ..document("LARGE", number, listed()) };
    let rest = rest.iter().map(|piece| piece.map(str::to_owned)).collect();
    let brief = Some(format!("brief {number}"));
    let said = DocumentChange::Search(first.address.clone(), "large and long".to_owned());
    let change = [DocumentChange::PutPieces(DocumentPieces { first, rest, brief }), said];
    write(store, STREAM, &[event(store, number, number, None)], &change);
}

fn pieces(store: &dyn Store) -> usize {
    store.begin().unwrap().pieces(STREAM, &address("task", "LARGE")).unwrap()
}

/// The body as every way of reading gives it.
fn body(store: &dyn Store) -> Option<String> {
    let mut view = store.snapshot().unwrap();
    let one = view.document(STREAM, &address("task", "LARGE")).unwrap();
    let listed = view.list(STREAM, &ListQuery::of("task")).unwrap();
    assert_eq!(listed.iter().find(|row| row.address.name == "LARGE"), one.as_ref());
    let all = view.documents(STREAM).unwrap();
    assert_eq!(all.iter().find(|row| row.address.name == "LARGE"), one.as_ref());
    assert!(one.as_ref().is_none_or(|row| row.index == self::listed()));
    one.map(|row| row.body)
}

pub(super) fn a_body_is_its_pieces_in_order(store: &dyn Store) {
    assert_eq!(pieces(store), 0);
    let small = [DocumentChange::Put(document("SMALL", 1, listed()), None)];
    write(store, STREAM, &[event(store, 1, 1, None)], &small);
    put(store, 2, "a", &[Some("b"), Some("c"), Some("d")]);
    assert_eq!((body(store).as_deref(), pieces(store)), (Some("abcd"), 4));
    put(store, 3, "A", &[None, Some("C"), None]);
    assert_eq!((body(store).as_deref(), pieces(store)), (Some("AbCd"), 4));
    put(store, 4, "A", &[None, None]);
    assert_eq!((body(store).as_deref(), pieces(store)), (Some("AbC"), 3), "the end is gone");
    let brief = store.snapshot().unwrap().brief(STREAM, &address("task", "LARGE")).unwrap();
    assert_eq!(brief.as_deref(), Some("brief 4"));
    let mut view = store.snapshot().unwrap();
    let found = view.search(STREAM, &ListQuery::of("task"), "large").unwrap().unwrap();
    assert_eq!(found.page, [(address("task", "LARGE"), 4)]);
    drop(view);
    assert_eq!(store.check().unwrap(), vec![]);
}

pub(super) fn pieces_come_and_go_with_their_document(store: &dyn Store) {
    let whole = |number| [DocumentChange::Put(document("LARGE", number, listed()), None)];
    write(store, STREAM, &[event(store, 1, 1, None)], &whole(1));
    assert_eq!(pieces(store), 1);
    put(store, 2, "a", &[Some("b")]);
    write(store, STREAM, &[event(store, 3, 3, None)], &whole(3));
    assert_eq!((body(store).as_deref(), pieces(store)), (Some("LARGE at 3"), 1));
    put(store, 4, "a", &[Some("b")]);
    let gone = [DocumentChange::Remove(address("task", "LARGE"))];
    write(store, STREAM, &[event(store, 5, 5, None)], &gone);
    assert_eq!((body(store), pieces(store)), (None, 0));
    put(store, 6, "a", &[Some("z")]);
    assert_eq!(body(store).as_deref(), Some("az"));
    let mut transaction = store.begin().unwrap();
    let last = [event(store, 7, 7, None)];
    transaction.end(&Append { stream: STREAM, events: &last, documents: &[] }).unwrap();
    transaction.commit().unwrap();
    assert_eq!(body(store), None);
    assert_eq!(store.check().unwrap(), vec![], "no piece is left");
}
