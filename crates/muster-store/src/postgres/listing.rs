//! The SQL of list and event queries. The planner chooses the index; each condition is written as
//! in the index that serves it.

use muster_core::{EventChoice, EventOrder, EventQuery, ListOrder, ListQuery, Mark, RankBound};

use super::link::{Order, SqlParameter, number, parameter, signed, text};
use crate::CatalogueQuery;

/// Columns of a document, in the order in which a row is read.
macro_rules! document_columns {
    () => {
        "d.kind, d.name, d.version, d.ord, d.parent, d.status, d.rank, d.marks, \
         CASE WHEN d.pieces = 1 THEN d.body ELSE d.body || (SELECT string_agg(piece.body, '' \
         ORDER BY piece.number) FROM muster.piece WHERE piece.document = d.id \
         AND piece.number < d.pieces) END"
    };
}

/// Columns of an event, in the order in which a row is read.
macro_rules! event_columns {
    () => {
        "e.seq, e.at, e.kind, e.entity, e.scope, e.body, e.shown, e.author, e.intent"
    };
}

pub(super) use document_columns;
pub(super) use event_columns;

/// A statement in the making.
pub(super) struct Question {
    sql: String,
    parameters: Vec<SqlParameter>,
}

impl Question {
    fn new(sql: &str) -> Self {
        Self { sql: sql.to_owned(), parameters: Vec::new() }
    }

    /// Adds a condition or clause; `?` in it is the value.
    fn with(&mut self, sql: &str, value: SqlParameter) {
        self.parameters.push(value);
        self.sql.push_str(&sql.replace('?', &format!("${}", self.parameters.len())));
    }

    fn order(self, action: &'static str) -> Order {
        Order::of(action, self.sql, self.parameters)
    }
}

/// What is selected of the documents of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Selected {
    Documents,
    Versions,
    Briefs,
}

impl Selected {
    fn columns(self) -> &'static str {
        match self {
            Self::Documents => document_columns!(),
            Self::Versions => "d.name, d.version",
            Self::Briefs => "d.brief",
        }
    }
}

/// The statement of a list.
pub(super) fn list(selected: Selected, stream: i64, query: &ListQuery) -> Order {
    let start = ["SELECT ", selected.columns(), " FROM muster.document d WHERE"].concat();
    let mut question = Question::new(&start);
    question.with(" d.stream = ?", parameter(stream));
    conditions(&mut question, query);
    question.sql.push_str(match query.order {
        ListOrder::Ascending => " ORDER BY d.ord, d.id",
        ListOrder::Descending => " ORDER BY d.ord DESC, d.id DESC",
        ListOrder::Rank => " ORDER BY d.rank, d.ord, d.id",
        ListOrder::RankDescending => " ORDER BY d.rank DESC, d.ord DESC, d.id DESC",
    });
    if let Some(limit) = query.limit {
        question.with(" LIMIT ?", parameter(i64::from(limit)));
    }
    question.order("listed documents")
}

/// The statement that finds the documents of a list by a string, without its bounds.
pub(super) fn search(stream: i64, query: &ListQuery, sought: &str, grams: Vec<i64>) -> Order {
    let mut question = Question::new(
        "SELECT d.name, d.version, d.ord, d.status FROM muster.searched s \
         JOIN muster.document d ON d.id = s.document WHERE",
    );
    question.with(" s.stream = ?", parameter(stream));
    if !grams.is_empty() {
        question.with(" AND s.grams @> ?", parameter(grams));
    }
    question.with(" AND position(? in s.said) > 0", parameter(sought.as_bytes().to_vec()));
    conditions(&mut question, &ListQuery { after: None, limit: None, ..query.clone() });
    question.sql.push_str(" ORDER BY d.ord, d.id");
    question.order("searched")
}

fn conditions(question: &mut Question, query: &ListQuery) {
    question.with(" AND d.kind = ?", text(query.kind));
    match &query.parent {
        Some(parent) => question.with(" AND d.parent = ?", text(parent)),
        None => question.sql.push_str(" AND (d.marks & 4) = 4"),
    }
    if !query.statuses.is_empty() {
        let statuses: Vec<String> = query.statuses.iter().map(|s| (*s).to_owned()).collect();
        question.with(" AND d.status = ANY(?)", parameter(statuses));
    }
    question.sql.push_str(match query.mark {
        None => "",
        Some(Mark::Listed) => " AND (d.marks & 4) = 4",
        Some(Mark::Catalogued) => " AND (d.marks & 8) = 8",
        Some(Mark::Blocked) => " AND (d.marks & 1) = 1",
        Some(Mark::Unconfirmed) => " AND (d.marks & 2) = 2",
    });
    match query.rank {
        None => {}
        Some(RankBound::Above(bound)) => {
            question.with(" AND d.rank > ?", parameter(i64::from(bound)));
        }
        Some(RankBound::UpTo(bound)) => {
            question.with(" AND d.rank <= ?", parameter(i64::from(bound)));
        }
    }
    match (query.order, query.after) {
        (ListOrder::Ascending, Some(after)) => question.with(" AND d.ord > ?", number(after)),
        (ListOrder::Descending, Some(after)) => question.with(" AND d.ord < ?", below(after)),
        (ListOrder::Ascending | ListOrder::Descending, None) => {}
        (ListOrder::Rank | ListOrder::RankDescending, _) => {
            question.sql.push_str(" AND d.rank IS NOT NULL");
        }
    }
}

/// An exclusive upper bound: everything is below what is larger than any number.
fn below(bound: u64) -> SqlParameter {
    parameter(signed(bound))
}

/// The statement that lists documents of all streams, each with the name of its stream.
pub(super) fn catalogue(query: &CatalogueQuery) -> Order {
    let mut question = Question::new(concat!(
        "SELECT ",
        document_columns!(),
        ", s.name FROM muster.document d JOIN muster.stream s ON s.id = d.stream \
         WHERE (d.marks & 8) = 8"
    ));
    question.with(" AND d.kind = ?", text(query.kind));
    if let Some(bound) = query.below {
        question.with(" AND d.ord < ?", below(bound));
    }
    question.sql.push_str(" ORDER BY d.ord DESC, d.id DESC");
    if let Some(limit) = query.limit {
        question.with(" LIMIT ?", parameter(i64::from(limit)));
    }
    question.order("listed a catalogue")
}

/// The statement of an event query.
pub(super) fn events(stream: i64, query: &EventQuery) -> Order {
    let mut question =
        Question::new(concat!("SELECT ", event_columns!(), " FROM muster.event e WHERE"));
    question.with(" e.stream = ?", parameter(stream));
    question.sql.push_str(" AND e.entity IS NOT NULL");
    if let Some(entity) = &query.entity {
        question.with(" AND e.entity = ?", text(entity));
    }
    if let Some(scope) = &query.scope {
        question.with(" AND e.scope = ?", text(scope));
    }
    match query.choice {
        EventChoice::All => {}
        EventChoice::Kind(kind) => question.with(" AND e.kind = ?", text(kind)),
        EventChoice::Intended => question.sql.push_str(" AND e.intent IS NOT NULL"),
    }
    if query.above > 0 {
        question.with(" AND e.seq > ?", number(query.above));
    }
    let (compared, order) = match query.order {
        EventOrder::OldestFirst => (" AND e.seq > ?", " ORDER BY e.seq LIMIT ?"),
        EventOrder::NewestFirst => (" AND e.seq < ?", " ORDER BY e.seq DESC LIMIT ?"),
    };
    if let Some(after) = query.after {
        question.with(compared, number(after));
    }
    question.with(order, parameter(i64::from(query.limit)));
    question.order("listed events")
}
