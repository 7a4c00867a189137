//! Lists against a simple model that shares no code with the room.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{Screen, line};

/// Id, title, status.
type Row = (String, String, &'static str);

/// A change of a list whose items all bring their ids.
#[derive(Clone, Debug)]
enum Move {
    Replace(Vec<Row>),
    Clear,
    Retitle(String, String),
    Tick(String, &'static str),
    Upsert(Row, Option<i64>),
    Delete(Vec<String>),
}

fn id() -> impl Strategy<Value = String> {
    prop::sample::select(vec!["a", "b", "c", "d"]).prop_map(str::to_owned)
}

fn status() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec!["todo", "in_progress", "done", "blocked", "canceled"])
}

fn row() -> impl Strategy<Value = Row> {
    (id(), "[xyz]{1,3}", status())
}

fn moves() -> impl Strategy<Value = Move> {
    prop_oneof![
        3 => prop::collection::vec(row(), 0..6).prop_map(Move::Replace),
        1 => Just(Move::Clear),
        2 => (id(), "[xyz]{1,3}").prop_map(|(id, title)| Move::Retitle(id, title)),
        2 => (id(), status()).prop_map(|(id, status)| Move::Tick(id, status)),
        4 => (row(), prop::option::of(-2..7_i64)).prop_map(|(row, at)| Move::Upsert(row, at)),
        2 => prop::collection::vec(id(), 1..3).prop_map(Move::Delete),
    ]
}

fn todo(what: &Move) -> Value {
    let item = |(id, title, status): &Row| json!({"id": id, "title": title, "status": status});
    match what {
        Move::Replace(rows) => {
            json!({"op": "replace", "items": rows.iter().map(item).collect::<Vec<_>>()})
        }
        Move::Clear => json!({"op": "clear"}),
        Move::Retitle(id, title) => json!({"op": "patch", "patches": [{"id": id, "title": title}]}),
        Move::Tick(id, status) => json!({"op": "patch", "id": id, "patch": {"status": status}}),
        Move::Upsert(row, at) => json!({"op": "upsert", "item": item(row), "position": at}),
        Move::Delete(ids) => json!({"op": "delete", "ids": ids}),
    }
}

fn model(rows: &mut Vec<Row>, what: Move) {
    match what {
        Move::Replace(given) => {
            rows.clear();
            for row in given {
                match rows.iter().position(|known| known.0 == row.0) {
                    Some(at) => rows[at] = row,
                    None => rows.push(row),
                }
            }
        }
        Move::Clear => rows.clear(),
        Move::Retitle(id, title) => {
            rows.iter_mut().filter(|row| row.0 == id).for_each(|row| row.1 = title.clone());
        }
        Move::Tick(id, status) => {
            rows.iter_mut().filter(|row| row.0 == id).for_each(|row| row.2 = status);
        }
        Move::Upsert(row, at) => match rows.iter().position(|known| known.0 == row.0) {
            Some(known) => rows[known] = row,
            None => {
                let end = i64::try_from(rows.len()).unwrap();
                let at = at.map_or(end, |at| at.clamp(0, end));
                rows.insert(usize::try_from(at).unwrap(), row);
            }
        },
        Move::Delete(ids) => rows.retain(|row| !ids.contains(&row.0)),
    }
}

proptest! {
    #[test]
    fn every_sequence_of_changes_gives_the_list_of_the_model(
        moves in prop::collection::vec(moves(), 1..25),
    ) {
        let mut screen = Screen::new();
        let mut rows = Vec::new();
        for what in moves {
            screen.todo(&todo(&what));
            model(&mut rows, what);
            let expected: Vec<String> =
                rows.iter().map(|(id, title, status)| format!("{id}:{title}:{status}")).collect();
            prop_assert_eq!(line(&screen.main().items), expected.join(" "));
        }
    }
}
