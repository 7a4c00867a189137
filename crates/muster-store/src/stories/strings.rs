//! What strings may contain.

use muster_core::{Index, ListQuery};

use super::{document, event, write};
use crate::{DocumentChange, DocumentRow, EventRow, FetchedDocument, Store, WantedDocument};

pub(super) fn any_character_can_be_in_a_string(store: &dyn Store) {
    let odd = "a\0b\u{10FFFF}\u{1f}'\"\\";
    let index = Index { parent: odd.to_owned(), ..Index::default() };
    let row = DocumentRow { body: odd.to_owned(), ..document(odd, 1, index) };
    let stream = format!("session/{odd}");
    let event = EventRow { intent: Some(odd.to_owned()), ..event(store, 1, 1, Some((odd, odd))) };
    let put = DocumentChange::Put(row.clone(), Some(odd.to_owned()));
    let search = DocumentChange::Search(row.address.clone(), odd.to_owned());
    write(store, &stream, std::slice::from_ref(&event), &[put, search]);
    let mut view = store.snapshot().unwrap();
    assert_eq!(view.streams("").unwrap()[0].name, stream);
    assert_eq!(view.tail(&stream, 0, 9).unwrap(), [event]);
    let inside = ListQuery { parent: Some(odd.to_owned()), ..ListQuery::of("task") };
    assert_eq!(view.list(&stream, &inside).unwrap(), std::slice::from_ref(&row));
    assert_eq!(view.document(&stream, &row.address).unwrap().as_ref(), Some(&row));
    let wanted = [WantedDocument { address: row.address.clone(), held: None }];
    let fetched = view.fetch(&stream, &wanted).unwrap();
    assert_eq!(view.brief(&stream, &row.address).unwrap().as_deref(), Some(odd));
    assert_eq!(view.searched(&stream, &row.address).unwrap().as_deref(), Some(odd));
    assert_eq!(fetched, [FetchedDocument::Row(row)]);
}
