//! Slices of a stream's events, by entity and by container.

use muster_core::{EventChoice, EventOrder, EventQuery};

use super::{STREAM, event, write};
use crate::{EventRow, ShownRow, Store};

/// The kind of some events.
const RARE: &str = "rare";

/// The event without a shown form.
const SILENT: u64 = 38;

/// Events of two streams whose subjects alternate; every fifth has none.
fn timeline(store: &dyn Store) -> Vec<EventRow> {
    let mut kept = Vec::new();
    for number in 1..=40_u64 {
        let entity = format!("TASK-{}", number % 3);
        let scope = format!("PLAN-{}", number % 2);
        let subject = (number % 5 != 0).then_some((entity.as_str(), scope.as_str()));
        let (stream, seq) = if number % 4 == 0 {
            ("workspace/other", number / 4)
        } else {
            (STREAM, number - number / 4)
        };
        let shown = (number != SILENT).then(|| format!("{{\"n\":{number}}}"));
        let kind = if number % 7 < 3 { RARE } else { "noted" }.to_owned();
        let intent = (number % 3 == 0).then(|| "note".to_owned());
        let row = EventRow { shown, kind, intent, ..event(store, number, seq, subject) };
        write(store, stream, std::slice::from_ref(&row), &[]);
        if stream == STREAM && row.subject.is_some() {
            kept.push(row);
        }
    }
    kept
}

pub(super) fn event_slices_are_read_both_ways(store: &dyn Store) {
    let all = timeline(store);
    let mut view = store.snapshot().unwrap();
    let mut ask = |query: &EventQuery| {
        let expected = slice_of(&all, query);
        assert_eq!(view.events(STREAM, query).unwrap(), expected, "{query:?}");
        let row = |row: EventRow| {
            Some(ShownRow { global: row.global, at: row.at, shown: row.shown?, by: row.by })
        };
        let shown: Option<Vec<ShownRow>> = expected.into_iter().map(row).collect();
        assert_eq!(view.shown(STREAM, query).unwrap(), shown, "{query:?}");
    };
    let words = |words: [Option<&str>; 3]| words.map(|word| word.map(str::to_owned));
    for entity in words([None, Some("TASK-1"), Some("TASK-9")]) {
        for scope in words([None, Some("PLAN-0"), Some("PLAN-9")]) {
            for after in [None, Some(0), Some(17), Some(40), Some(u64::MAX)] {
                for order in [EventOrder::OldestFirst, EventOrder::NewestFirst] {
                    let entity = entity.clone();
                    let scope = scope.clone();
                    let query = EventQuery { entity, scope, after, ..EventQuery::of(order, 100) };
                    for choice in [EventChoice::All, EventChoice::Kind(RARE), EventChoice::Intended]
                    {
                        let query = EventQuery { choice, ..query.clone() };
                        ask(&query);
                        ask(&EventQuery { limit: 3, ..query.clone() });
                        ask(&EventQuery { above: 11, ..query.clone() });
                        ask(&EventQuery { above: 12, limit: 3, ..query });
                    }
                }
            }
        }
    }
}

fn slice_of(all: &[EventRow], query: &EventQuery) -> Vec<EventRow> {
    let mut found: Vec<EventRow> = all.to_vec();
    found.retain(|row| {
        let subject = row.subject.as_ref().unwrap();
        query.entity.as_ref().is_none_or(|entity| *entity == subject.entity)
            && query.scope.as_ref().is_none_or(|scope| *scope == subject.scope)
            && row.global > query.above
            && match query.choice {
                EventChoice::All => true,
                EventChoice::Kind(kind) => row.kind == kind,
                EventChoice::Intended => row.intent.is_some(),
            }
    });
    match query.order {
        EventOrder::OldestFirst => found.retain(|row| query.after.is_none_or(|a| row.global > a)),
        EventOrder::NewestFirst => {
            found.retain(|row| query.after.is_none_or(|a| row.global < a));
            found.reverse();
        }
    }
    found.truncate(query.limit as usize);
    found
}
