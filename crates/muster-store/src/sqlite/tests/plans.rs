//! Every list and every slice of events is a range of one index, for every query.

use std::borrow::Cow;

use muster_core::{
    Address, EventChoice, EventOrder, EventQuery, Index, ListOrder, ListQuery, Mark, Subject,
    Timestamp,
};
use rusqlite::{StatementStatus, params_from_iter};

use super::{
    super::{SqliteStore, link::Link, listing},
    STREAM, open,
};
use crate::{Append, DocumentChange, DocumentRow, EventRow, Store as _};

/// Status of the documents that make a store large; the queries ask for the others.
const CROWD: &str = "DONE";

const ORDERS: [ListOrder; 4] =
    [ListOrder::Ascending, ListOrder::Descending, ListOrder::Rank, ListOrder::RankDescending];

/// Whether the result has to be sorted: marked documents have no index by rank.
fn sorts(query: &ListQuery) -> bool {
    let ranked = matches!(query.order, ListOrder::Rank | ListOrder::RankDescending);
    query.mark.is_some() && ranked
}

/// Whether even a list of briefs reads documents: it filters by what their index does not have.
fn looks_inside(query: &ListQuery) -> bool {
    let ranked = matches!(query.order, ListOrder::Rank | ListOrder::RankDescending);
    let narrowed = !query.statuses.is_empty() || query.parent.is_none();
    (query.mark.is_some() || ranked) && narrowed || sorts(query)
}

fn list_queries() -> Vec<ListQuery> {
    let mut queries = Vec::new();
    for parent in [None, Some("PLAN-1".to_owned())] {
        for statuses in [vec![], vec!["TODO"], vec!["TODO", "ACTIVE", "TODO"]] {
            for mark in [None, Some(Mark::Blocked), Some(Mark::Unconfirmed)] {
                for order in ORDERS {
                    queries.push(ListQuery {
                        kind: "task",
                        parent: parent.clone(),
                        statuses: statuses.clone(),
                        mark,
                        rank: None,
                        after: Some(1_000),
                        order,
                        limit: Some(5),
                    });
                }
            }
        }
    }
    queries
}

/// The statuses that the list is merged from.
fn asked(query: &ListQuery) -> Vec<&'static str> {
    match listing::statuses(1, query) {
        Some(_) => vec!["ACTIVE", CROWD, "TODO"],
        None => query.statuses.clone(),
    }
}

fn event_queries(choices: &[EventChoice]) -> Vec<EventQuery> {
    let mut queries = Vec::new();
    for entity in [None, Some("TASK-1".to_owned())] {
        for scope in [None, Some("PLAN-1".to_owned())] {
            for order in [EventOrder::OldestFirst, EventOrder::NewestFirst] {
                let entity = entity.clone();
                let scope = scope.clone();
                let slice =
                    EventQuery { entity, scope, after: Some(1_000), ..EventQuery::of(order, 5) };
                for choice in choices {
                    queries.push(EventQuery { choice: *choice, above: 7, ..slice.clone() });
                }
            }
        }
    }
    queries
}

fn bounds(query: &EventQuery) -> listing::EventBounds {
    listing::EventBounds { after: query.after, above: query.above }
}

fn plan(link: &Link, question: &listing::ListStatement<'_>) -> Vec<String> {
    let sql = format!("EXPLAIN QUERY PLAN {}", question.sql);
    let mut statement = link.connection.prepare(&sql).unwrap();
    let rows =
        statement.query_map(params_from_iter(&question.parameters), |row| row.get(3)).unwrap();
    rows.map(Result::unwrap).collect()
}

#[test]
fn no_query_scans_a_table_and_only_marked_by_rank_sorts() {
    let home = tempfile::tempdir().unwrap();
    let link = open(home.path()).pool.open().unwrap();
    for query in list_queries() {
        let plan = plan(&link, &listing::documents(1, &query, &asked(&query)));
        let text = plan.join("\n");
        assert!(text.contains("SEARCH document USING INDEX"), "{query:?}\n{text}");
        // The pieces of a body are read as they are found.
        let tables = text.replace("SCAN (subquery", "");
        assert!(!tables.contains("SCAN"), "{query:?}\n{text}");
        assert_eq!(text.contains("TEMP B-TREE"), sorts(&query), "{query:?}\n{text}");
        let text = self::plan(&link, &listing::briefs(1, &query, &asked(&query))).join("\n");
        let reads_documents = text.contains("SEARCH document USING INDEX");
        assert_eq!(reads_documents, looks_inside(&query), "{query:?}\n{text}");
        assert!(text.contains("SEARCH brief USING INTEGER PRIMARY KEY"), "{query:?}\n{text}");
    }
    let kind = EventChoice::Kind("step_noted");
    for query in event_queries(&[EventChoice::All, kind, EventChoice::Intended]) {
        let text = plan(&link, &listing::events(1, &query, bounds(&query))).join("\n");
        assert!(text.contains("SEARCH event USING INDEX"), "{query:?}\n{text}");
        let range = text.contains("rowid") || text.contains("stream=? AND seq");
        assert!(range, "a range of positions or numbers: {query:?}\n{text}");
        assert!(!text.contains("SCAN") && !text.contains("TEMP"), "{query:?}\n{text}");
    }
}

/// Virtual machine steps of a query: a cost that does not depend on the computer.
fn steps(link: &Link, question: &listing::ListStatement<'_>) -> i32 {
    let mut statement = link.connection.prepare(&question.sql).unwrap();
    let mut rows = statement.query(params_from_iter(&question.parameters)).unwrap();
    while rows.next().unwrap().is_some() {}
    drop(rows);
    statement.get_status(StatementStatus::VmStep)
}

/// Adds documents and events of which the queries above match every hundredth.
fn grow(store: &SqliteStore, count: u64) {
    let mut transaction = store.begin().unwrap();
    let head = transaction.head(STREAM).unwrap();
    let mut events = Vec::new();
    let mut documents = Vec::new();
    for number in 1..=count {
        let global = head.global + number;
        let wanted = global.is_multiple_of(100);
        let parent = if wanted { "PLAN-1" } else { "PLAN-2" };
        let entity = if wanted { "TASK-1" } else { "TASK-2" };
        events.push(EventRow {
            global,
            seq: global,
            at: Timestamp(0),
            kind: "noted".to_owned(),
            subject: Some(Subject { entity: entity.to_owned(), scope: parent.to_owned() }),
            body: String::new(),
            shown: None,
            by: None,
            intent: None,
        });
        documents.push(DocumentChange::Put(
            DocumentRow {
                address: Address { kind: Cow::Borrowed("task"), name: format!("TASK-{global}") },
                index: Index {
                    ord: global,
                    parent: parent.to_owned(),
                    status: Cow::Borrowed(if wanted { "TODO" } else { CROWD }),
                    rank: wanted.then_some(1),
                    marks: if wanted { 7 } else { 4 },
                },
                version: global,
                body: String::new(),
            },
            None,
        ));
    }
    let append = Append { stream: STREAM, events: &events, documents: &documents };
    transaction.append(&append).unwrap();
    transaction.commit().unwrap();
}

#[test]
fn the_cost_of_an_answer_does_not_grow_with_the_store() {
    let home = tempfile::tempdir().unwrap();
    let store = open(home.path());
    let link = store.pool.open().unwrap();
    let costs = || -> Vec<(String, i32)> {
        let lists = list_queries().into_iter().filter(|query| {
            // Sorting marked documents by rank costs as much as there are marked ones.
            !sorts(query)
        });
        let lists = lists.map(|query| {
            let found = listing::statuses(1, &query).map_or(0, |statuses| steps(&link, &statuses));
            let listed = steps(&link, &listing::documents(1, &query, &asked(&query)));
            (format!("{query:?}"), found + listed)
        });
        let slices = event_queries(&[EventChoice::All]).into_iter().map(|query| {
            (format!("{query:?}"), steps(&link, &listing::events(1, &query, bounds(&query))))
        });
        lists.chain(slices).collect()
    };
    grow(&store, 2_000);
    let small = costs();
    grow(&store, 18_000);
    for ((query, before), (_, after)) in small.iter().zip(costs()) {
        assert!(*before > 20, "the query found something: {query}");
        assert!(f64::from(after) <= f64::from(*before) * 1.2, "{before} -> {after}: {query}");
    }
}
