//! Lists: for every query, the result is what `ListQuery::admits` accepts, in the requested order.

use std::{
    borrow::Cow,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use muster_core::{Address, Index, ListOrder, ListQuery, Mark, RankBound};
use proptest::{
    collection::vec,
    prelude::{Just, Strategy, any},
    prop_oneof,
    sample::{select, subsequence},
    test_runner::{Config, TestRunner},
};

use super::{event, write};
use crate::{DocumentChange, DocumentRow, Store};

const KINDS: [&str; 2] = ["plan", "task"];
const PARENTS: [&str; 3] = ["", "PLAN-1", "PLAN-2"];
const STATUSES: [&str; 4] = ["", "ACTIVE", "DONE", "TODO"];
/// Small, so that sort numbers collide and order among equals is tested too.
const ORD_MAX: u64 = 12;
const CASES: u32 = 300;

fn address() -> impl Strategy<Value = Address> {
    (select(&KINDS[..]), 0..20_u8)
        .prop_map(|(kind, number)| Address { kind: Cow::Borrowed(kind), name: number.to_string() })
}

fn index() -> impl Strategy<Value = Index> {
    let rank = prop_oneof![Just(None), (0..4_u32).prop_map(Some)];
    (0..ORD_MAX, select(&PARENTS[..]), select(&STATUSES[..]), rank, 0..8_u8).prop_map(
        |(ord, parent, status, rank, marks)| Index {
            ord,
            parent: parent.to_owned(),
            status: Cow::Borrowed(status),
            rank,
            marks,
        },
    )
}

fn change() -> impl Strategy<Value = DocumentChange> {
    let put = (address(), index(), any::<u8>()).prop_map(|(address, index, body)| {
        let row = DocumentRow { address, index, version: 1, body: body.to_string() };
        let brief = brief(&row);
        DocumentChange::Put(row, brief)
    });
    prop_oneof![5 => put, 1 => address().prop_map(DocumentChange::Remove)]
}

/// Of the two kinds only tasks have briefs.
fn brief(row: &DocumentRow) -> Option<String> {
    (row.address.kind == "task").then(|| format!("{} in short: {}", row.address.name, row.body))
}

fn query() -> impl Strategy<Value = ListQuery> {
    let parent = prop_oneof![Just(None), select(&PARENTS[..]).prop_map(Some)];
    let statuses = subsequence(&STATUSES[..], 0..=STATUSES.len()).prop_shuffle();
    let mark = select(vec![None, Some(Mark::Blocked), Some(Mark::Unconfirmed)]);
    let after = prop_oneof![Just(None), (0..=ORD_MAX).prop_map(Some), Just(Some(u64::MAX))];
    let order = select(vec![
        ListOrder::Ascending,
        ListOrder::Descending,
        ListOrder::Rank,
        ListOrder::RankDescending,
    ]);
    let limit = prop_oneof![Just(None), (0..6_u32).prop_map(Some)];
    let rank = prop_oneof![
        2 => Just(None),
        1 => (0..5_u32).prop_map(|rank| Some(RankBound::Above(rank))),
        1 => (0..5_u32).prop_map(|rank| Some(RankBound::UpTo(rank))),
    ];
    (select(&KINDS[..]), parent, statuses, mark, (rank, after), order, limit).prop_map(
        |(kind, parent, statuses, mark, (rank, after), order, limit)| ListQuery {
            kind,
            parent: parent.map(str::to_owned),
            statuses,
            mark,
            rank,
            after,
            order,
            limit,
        },
    )
}

/// What the documents are after the changes, in the order in which they were first written.
fn survivors(changes: &[DocumentChange]) -> Vec<DocumentRow> {
    let mut rows: Vec<DocumentRow> = Vec::new();
    for change in changes {
        match change {
            DocumentChange::Put(row, _) => {
                match rows.iter_mut().find(|known| known.address == row.address) {
                    Some(known) => *known = row.clone(),
                    None => rows.push(row.clone()),
                }
            }
            DocumentChange::Search(..) => {}
            DocumentChange::PutPieces(_) => unreachable!("another chapter writes pieces"),
            DocumentChange::Remove(address) => rows.retain(|row| row.address != *address),
        }
    }
    rows
}

fn expected(mut rows: Vec<DocumentRow>, query: &ListQuery) -> Vec<DocumentRow> {
    rows.retain(|row| query.admits(&row.address, &row.index));
    match query.order {
        ListOrder::Ascending => rows.sort_by_key(|row| row.index.ord),
        ListOrder::Descending => {
            rows.sort_by_key(|row| row.index.ord);
            rows.reverse();
        }
        ListOrder::Rank => rows.sort_by_key(|row| (row.index.rank, row.index.ord)),
        ListOrder::RankDescending => {
            rows.reverse();
            rows.sort_by_key(|row| std::cmp::Reverse((row.index.rank, row.index.ord)));
        }
    }
    rows.truncate(query.limit.map_or(usize::MAX, |limit| limit as usize));
    rows
}

/// Writes the changes to a stream of their own, spread over several transactions.
fn fill(store: &dyn Store, stream: &str, changes: &[DocumentChange]) {
    for (number, share) in changes.chunks(16).enumerate() {
        let global = store.position().unwrap() + 1;
        write(store, stream, &[event(store, global, number as u64 + 1, None)], share);
    }
}

pub(super) fn lists_hold_what_they_admit_in_every_order(store: &dyn Store) {
    let streams = AtomicU64::new(0);
    let mut runner =
        TestRunner::new(Config { cases: CASES, failure_persistence: None, ..Config::default() });
    let cases = (vec(change(), 0..60), vec(query(), 30));
    let outcome = runner.run(&cases, |(changes, queries)| {
        let stream = format!("workspace/{}", streams.fetch_add(1, Ordering::Relaxed));
        fill(store, &stream, &changes);
        let rows = survivors(&changes);
        let mut view = store.snapshot().unwrap();
        for query in &queries {
            let listed = view.list(&stream, query).unwrap();
            let versions: Vec<(Address, u64)> =
                listed.iter().map(|row| (row.address.clone(), row.version)).collect();
            assert_eq!(view.list_versions(&stream, query).unwrap(), versions);
            for (address, version) in versions {
                assert_eq!(view.version(&stream, &address).unwrap(), Some(version));
            }
            assert_eq!(listed, expected(rows.clone(), query), "{query:?}");
            let kept = |row| brief(row).map(Arc::<str>::from);
            let briefs: Option<Vec<_>> = listed.iter().map(kept).collect();
            assert_eq!(view.briefs(&stream, query).unwrap(), briefs, "{query:?}");
            for row in &listed {
                assert_eq!(view.brief(&stream, &row.address).unwrap(), brief(row));
            }
        }
        Ok(())
    });
    outcome.unwrap();
    assert_eq!(store.check().unwrap(), vec![]);
}

pub(super) fn pages_of_a_list_meet_without_gap(store: &dyn Store) {
    let changes: Vec<DocumentChange> = (0..100_u64)
        .map(|ord| {
            let status = STATUSES[usize::try_from(ord % 4).unwrap()];
            let status = Cow::Borrowed(status);
            let marks = Mark::Listed as u8;
            let index = Index { ord, status, marks, ..Index::default() };
            DocumentChange::Put(super::document(&format!("TASK-{ord}"), 1, index), None)
        })
        .collect();
    fill(store, super::STREAM, &changes);
    let mut view = store.snapshot().unwrap();
    for order in [ListOrder::Ascending, ListOrder::Descending] {
        let whole = ListQuery { statuses: vec!["TODO", "DONE"], order, ..ListQuery::of("task") };
        let all = view.list(super::STREAM, &whole).unwrap();
        assert_eq!(all.len(), 50);
        let mut paged: Vec<DocumentRow> = Vec::new();
        loop {
            let after = paged.last().map(|row| row.index.ord);
            let page = ListQuery { after, limit: Some(7), ..whole.clone() };
            let page = view.list(super::STREAM, &page).unwrap();
            if page.is_empty() {
                break;
            }
            paged.extend(page);
        }
        assert_eq!(paged, all, "{order:?}");
    }
}
