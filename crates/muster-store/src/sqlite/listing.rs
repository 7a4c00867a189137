//! The SQL of list and event queries.
//!
//! Every query names the index it uses, so its cost is fixed here and not by the planner's guess.
//! One index cannot give several statuses in sort order; such a list is a merge of one range per
//! status:
//!
//! ```text
//!   status = ACTIVE, by ord ──┐
//!                             ├─ merged by (ord, id) ─► LIMIT
//!   status = TODO,   by ord ──┘
//! ```
//!
//! A list of any status is the same merge over the existing statuses, of which a kind has a few
//! ([`statuses`]). An index without the status would save that query and cost a page with every
//! write.
//!
//! A list by mark, or by rank with a status, filters the marked or ranked documents, which are the
//! few that need attention, not the whole kind.

use std::borrow::Cow;

use muster_core::{EventChoice, EventOrder, EventQuery, ListOrder, ListQuery, Mark, RankBound};
use rusqlite::types::{ToSqlOutput, Value, ValueRef};

use crate::CatalogueQuery;

pub(super) struct ListStatement<'a> {
    pub(super) sql: String,
    pub(super) parameters: Vec<ToSqlOutput<'a>>,
}

impl<'a> ListStatement<'a> {
    fn new() -> Self {
        Self { sql: String::with_capacity(512), parameters: Vec::with_capacity(8) }
    }

    /// Adds a parameter and returns how the statement refers to it.
    fn integer(&mut self, value: i64) -> Cow<'static, str> {
        self.parameter(ToSqlOutput::Owned(Value::Integer(value)))
    }

    fn text(&mut self, value: &'a str) -> Cow<'static, str> {
        self.parameter(ToSqlOutput::Borrowed(ValueRef::Text(value.as_bytes())))
    }

    fn parameter(&mut self, value: ToSqlOutput<'a>) -> Cow<'static, str> {
        let at = self.parameters.len();
        self.parameters.push(value);
        PARAMETERS.get(at).map_or_else(|| format!("?{}", at + 1).into(), |name| (*name).into())
    }
}

/// Names of the first parameters. Statements are assembled for every list, so their parts are
/// joined and not formatted.
const PARAMETERS: [&str; 12] =
    ["?1", "?2", "?3", "?4", "?5", "?6", "?7", "?8", "?9", "?10", "?11", "?12"];

/// Columns of a document, in the order in which a row is read. The mark 256 says that the body
/// continues in `piece`.
macro_rules! document_columns {
    () => {
        "name, version, ord, parent, status, rank, marks, \
         CASE WHEN (marks & 256) = 0 THEN body ELSE body || \
         (SELECT group_concat(text, '') FROM (SELECT piece.body AS text FROM piece \
         WHERE piece.id BETWEEN document.id << 20 AND (document.id << 20) + 1048575 \
         ORDER BY piece.id)) END"
    };
}

/// Columns of an event, in the order in which a row is read.
macro_rules! event_columns {
    () => {
        "global, seq, at, kind, entity, scope, body, shown, author, intent"
    };
}

pub(super) use document_columns;
pub(super) use event_columns;

/// The statuses of the documents of a list query, if they have to be looked up: the query names
/// none, and its result is a merge over them.
pub(super) fn statuses<'a>(stream: i64, query: &'a ListQuery) -> Option<ListStatement<'a>> {
    if !query.statuses.is_empty() || !ranges_by_status(query) {
        return None;
    }
    let mut question = ListStatement::new();
    let place = place(&mut question, stream, query);
    let first = ["SELECT status FROM document INDEXED BY ", index(query), " WHERE ", &place];
    let first = first.concat();
    question.sql = [
        "WITH RECURSIVE found (status) AS (SELECT * FROM (",
        &first,
        " ORDER BY status LIMIT 1) UNION ALL SELECT (",
        &first,
        " AND status > found.status ORDER BY status LIMIT 1) \
         FROM found WHERE found.status IS NOT NULL) \
         SELECT status FROM found WHERE status IS NOT NULL",
    ]
    .concat();
    Some(question)
}

/// The statement of a list query with these statuses.
pub(super) fn documents<'a>(
    stream: i64,
    query: &'a ListQuery,
    statuses: &[&'a str],
) -> ListStatement<'a> {
    list(concat!(document_columns!(), ", id"), stream, query, statuses)
}

/// The statement of a list query for names and versions only.
pub(super) fn versions<'a>(
    stream: i64,
    query: &'a ListQuery,
    statuses: &[&'a str],
) -> ListStatement<'a> {
    list("name, version, ord, rank, id", stream, query, statuses)
}

/// The statement of a list query for what a search counts: the index covers it.
pub(super) fn counted<'a>(
    stream: i64,
    query: &'a ListQuery,
    statuses: &[&'a str],
) -> ListStatement<'a> {
    list("ord, id, status", stream, query, statuses)
}

/// The statement of a list query for briefs only: the index covers every filter. The list is built
/// first, then its briefs are looked up one by one in its order, so that the limit does not apply
/// to joined rows.
pub(super) fn briefs<'a>(
    stream: i64,
    query: &'a ListQuery,
    statuses: &[&'a str],
) -> ListStatement<'a> {
    let columns = if is_ranked(query.order) { "ord, rank, id" } else { "ord, id" };
    let mut question = list(columns, stream, query, statuses);
    question.sql = [
        "SELECT brief.body FROM (",
        &question.sql,
        ") AS listed LEFT JOIN brief ON brief.document = listed.id",
    ]
    .concat();
    question
}

/// The statement that lists these columns, among them those that a list can be sorted by.
fn list<'a>(
    columns: &str,
    stream: i64,
    query: &'a ListQuery,
    statuses: &[&'a str],
) -> ListStatement<'a> {
    let mut question = ListStatement::new();
    let shared = shared_conditions(&mut question, stream, query);
    let select =
        ["SELECT ", columns, " FROM document INDEXED BY ", index(query), " WHERE ", &shared];
    let names: Vec<Cow<'_, str>> = statuses.iter().map(|status| question.text(status)).collect();
    if names.is_empty() {
        question.sql.extend(select);
    } else if ranges_by_status(query) {
        for (at, name) in names.iter().enumerate() {
            question.sql.push_str(if at > 0 { " UNION ALL " } else { "" });
            question.sql.extend(select);
            question.sql.extend([" AND status = ", name]);
        }
    } else {
        question.sql.extend(select);
        question.sql.extend([" AND status IN (", &names.join(", "), ")"]);
    }
    let order = match query.order {
        ListOrder::Ascending => "ord, id",
        ListOrder::Descending => "ord DESC, id DESC",
        ListOrder::Rank => "rank, ord, id",
        ListOrder::RankDescending => "rank DESC, ord DESC, id DESC",
    };
    let limit = question.integer(query.limit.map_or(-1, i64::from));
    question.sql.extend([" ORDER BY ", order, " LIMIT ", &limit]);
    question
}

/// Whether the list is read from an index that is sorted by status, one range per status.
fn ranges_by_status(query: &ListQuery) -> bool {
    !is_ranked(query.order) && !matches!(query.mark, Some(Mark::Blocked | Mark::Unconfirmed))
}

fn is_ranked(order: ListOrder) -> bool {
    matches!(order, ListOrder::Rank | ListOrder::RankDescending)
}

fn index(query: &ListQuery) -> &'static str {
    let inside = query.parent.is_some();
    match query.mark {
        Some(Mark::Blocked) if inside => "document_blocked_by_parent",
        Some(Mark::Blocked) => "document_blocked",
        Some(Mark::Unconfirmed) if inside => "document_unconfirmed_by_parent",
        Some(Mark::Unconfirmed) => "document_unconfirmed",
        None | Some(Mark::Listed | Mark::Catalogued) => match (is_ranked(query.order), inside) {
            (true, true) => "document_by_parent_rank",
            (true, false) => "document_by_rank",
            (false, true) => "document_by_parent",
            (false, false) => "document_by_status",
        },
    }
}

/// The kind and the parent. An indexed expression must be written as in the index, or SQLite does
/// not use the index.
fn place<'a>(question: &mut ListStatement<'a>, stream: i64, query: &'a ListQuery) -> String {
    let stream = question.integer(stream);
    let kind = question.text(query.kind);
    match &query.parent {
        Some(parent) => {
            let parent = question.text(parent);
            ["stream = ", &stream, " AND kind = ", &kind, " AND parent = ", &parent].concat()
        }
        None => ["stream = ", &stream, " AND kind = ", &kind, " AND (marks & 4) = 4"].concat(),
    }
}

fn shared_conditions<'a>(
    question: &mut ListStatement<'a>,
    stream: i64,
    query: &'a ListQuery,
) -> String {
    let mut conditions = place(question, stream, query);
    match query.mark {
        None => {}
        Some(Mark::Listed) => conditions.push_str(" AND (marks & 4) = 4"),
        Some(Mark::Catalogued) => conditions.push_str(" AND (marks & 8) <> 0"),
        Some(Mark::Blocked) => conditions.push_str(" AND (marks & 1) = 1"),
        Some(Mark::Unconfirmed) => conditions.push_str(" AND (marks & 2) = 2"),
    }
    match query.rank {
        None => {}
        Some(RankBound::Above(bound)) => {
            let bound = question.integer(i64::from(bound));
            conditions.extend([" AND rank > ", &bound]);
        }
        Some(RankBound::UpTo(bound)) => {
            let bound = question.integer(i64::from(bound));
            conditions.extend([" AND rank <= ", &bound]);
        }
    }
    match query.order {
        ListOrder::Ascending => {
            let after = question.integer(above(query.after));
            conditions.extend([" AND ord > ", &after]);
        }
        ListOrder::Descending => {
            let last = question.integer(below(query.after));
            conditions.extend([" AND ord <= ", &last]);
        }
        ListOrder::Rank | ListOrder::RankDescending => {
            conditions.push_str(" AND rank IS NOT NULL");
        }
    }
    conditions
}

/// The statement that lists documents of all streams, each with the name of its stream.
pub(super) fn catalogue(query: &CatalogueQuery) -> ListStatement<'_> {
    let mut question = ListStatement::new();
    let kind = question.text(query.kind);
    let last = question.integer(below(query.below));
    let limit = question.integer(query.limit.map_or(-1, i64::from));
    question.sql = format!(
        "SELECT {}, (SELECT stream.name FROM stream WHERE stream.id = document.stream) \
         FROM document INDEXED BY document_catalogued \
         WHERE kind = {kind} AND (marks & 8) <> 0 AND ord <= {last} \
         ORDER BY ord DESC, id DESC LIMIT {limit}",
        document_columns!()
    );
    question
}

/// The bounds of an event query: positions if it names a subject, else numbers of the stream.
#[derive(Clone, Copy, Debug)]
pub(super) struct EventBounds {
    pub(super) after: Option<u64>,
    pub(super) above: u64,
}

/// The statement of an event query.
pub(super) fn events<'a>(
    stream: i64,
    query: &'a EventQuery,
    bounds: EventBounds,
) -> ListStatement<'a> {
    slice(event_columns!(), stream, query, bounds)
}

/// The statement of an event query for what is shown of each.
pub(super) fn shown<'a>(
    stream: i64,
    query: &'a EventQuery,
    bounds: EventBounds,
) -> ListStatement<'a> {
    slice("global, at, shown, author", stream, query, bounds)
}

fn slice<'a>(
    columns: &str,
    stream: i64,
    query: &'a EventQuery,
    EventBounds { after, above: floor }: EventBounds,
) -> ListStatement<'a> {
    let mut question = ListStatement::new();
    // In a stream, numbers and positions rise together. The indexes by subject end with the
    // position; all events of a stream are found by number.
    let (index, place) = match (&query.entity, &query.scope) {
        (Some(_), _) => ("event_by_entity", "global"),
        (None, Some(_)) => ("event_by_scope", "global"),
        (None, None) => ("event_by_seq", "seq"),
    };
    let stream = question.integer(stream);
    let from = [" FROM event INDEXED BY ", index, " WHERE stream = ", &stream].concat();
    let mut sql = ["SELECT ", columns, &from, " AND entity IS NOT NULL"].concat();
    if let Some(entity) = &query.entity {
        let entity = question.text(entity);
        sql.extend([" AND entity = ", &*entity]);
    }
    if let Some(scope) = &query.scope {
        let scope = question.text(scope);
        sql.extend([" AND scope = ", &*scope]);
    }
    match query.choice {
        EventChoice::All => {}
        EventChoice::Kind(kind) => {
            let kind = question.text(kind);
            sql.extend([" AND kind = ", &*kind]);
        }
        EventChoice::Intended => sql.push_str(" AND intent IS NOT NULL"),
    }
    if floor > 0 {
        let floor = question.integer(above(Some(floor)));
        sql.extend([" AND ", place, " > ", &*floor]);
    }
    let (compared, bound, direction) = match query.order {
        EventOrder::OldestFirst => (" > ", above(after), ""),
        EventOrder::NewestFirst => (" <= ", below(after), " DESC"),
    };
    let bound = question.integer(bound);
    let limit = question.integer(i64::from(query.limit));
    sql.extend([" AND ", place, compared, &bound]);
    sql.extend([" ORDER BY ", place, direction, " LIMIT ", &*limit]);
    question.sql = sql;
    question
}

/// Exclusive lower bound of the numbers.
pub(super) fn above(after: Option<u64>) -> i64 {
    after.map_or(-1, |after| i64::try_from(after).unwrap_or(i64::MAX))
}

/// Inclusive upper bound of the numbers.
fn below(after: Option<u64>) -> i64 {
    after.map_or(i64::MAX, |after| i64::try_from(after).map_or(i64::MAX, |after| after - 1))
}
