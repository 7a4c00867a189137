//! Looks for damage. Nothing here writes, and an SQLite error is a finding, not a failure.

use rusqlite::{Connection, Row};

use crate::Damage;

/// Findings reported per question; a torn file can have thousands.
const FINDINGS_MAX: usize = 100;

/// A query whose every row is damage.
struct Question {
    /// The first layout that the query works on.
    since: u32,
    place: &'static str,
    sql: &'static str,
}

const QUESTIONS: &[Question] = &[
    Question { since: 1, place: "file", sql: "PRAGMA integrity_check(100)" },
    Question {
        since: 1,
        place: "references",
        sql: "SELECT \"table\" || ' row ' || rowid || ' refers to a ' || parent || \
              ' that is not there' FROM pragma_foreign_key_check",
    },
    // Every event has taken one number of the log and one of its stream.
    Question {
        since: 1,
        place: "log",
        sql: "SELECT 'the newest position is ' || coalesce(max(global), 0) || ', the streams have \
              written ' || (SELECT coalesce(sum(head), 0) FROM \
              (SELECT max(seq) AS head FROM event GROUP BY stream)) FROM event \
              HAVING coalesce(max(global), 0) <> (SELECT coalesce(sum(head), 0) FROM \
              (SELECT max(seq) AS head FROM event GROUP BY stream))",
    },
    Question {
        since: 2,
        place: "stream",
        sql: "SELECT stream.name || ' has events from ' || coalesce(min(event.seq), 0) || ' to ' \
              || coalesce(max(event.seq), 0) || ' with ' || count(event.seq) || ' events' \
              FROM stream LEFT JOIN event ON event.stream = stream.id GROUP BY stream.id \
              HAVING count(event.seq) <> coalesce(max(event.seq) - min(event.seq) + 1, 0) \
              OR stream.ended = 0 AND coalesce(min(event.seq), 1) <> 1 \
              OR stream.ended = 1 AND count(event.seq) = 0",
    },
    Question {
        since: 4,
        place: "brief",
        sql: "SELECT document || ' is a brief of no document' FROM brief \
              WHERE document NOT IN (SELECT id FROM document)",
    },
    Question {
        since: 6,
        place: "piece",
        sql: "SELECT id || ' is a piece of no document' FROM piece WHERE id >> 20 NOT IN \
              (SELECT id FROM document WHERE (marks & 256) <> 0)",
    },
    Question {
        since: 7,
        place: "search",
        sql: "SELECT document || ' is found by a string, but is not a document' FROM searched \
              WHERE document NOT IN (SELECT id FROM document)",
    },
    Question {
        since: 8,
        place: "search",
        sql: "SELECT 'events are indexed up to ' || v || ', which the log has not reached' \
              FROM meta WHERE k = 'events_indexed' \
              AND v > (SELECT coalesce(max(global), 0) FROM event)",
    },
    Question {
        since: 1,
        place: "document",
        sql: "SELECT kind || ' ' || name || ' has version ' || version || \
              ', which the log has not reached' \
              FROM document WHERE version > (SELECT coalesce(max(global), 0) FROM event)",
    },
];

/// All damage found, as far as a file of this layout can be queried.
pub(super) fn damage(connection: &Connection, layout: u32) -> Vec<Damage> {
    let mut found = Vec::new();
    for question in QUESTIONS.iter().filter(|question| question.since <= layout) {
        if let Err(error) = ask(connection, question, &mut found) {
            found.push(finding(question, error.to_string()));
        }
    }
    found
}

fn ask(
    connection: &Connection,
    question: &Question,
    found: &mut Vec<Damage>,
) -> rusqlite::Result<()> {
    let mut statement = connection.prepare(question.sql)?;
    let mut rows = statement.query([])?;
    for _ in 0..FINDINGS_MAX {
        let Some(row) = rows.next()? else { break };
        let text = text(row)?;
        if text != "ok" {
            found.push(finding(question, text));
        }
    }
    Ok(())
}

/// The finding as text, even if the file holds invalid UTF-8.
fn text(row: &Row<'_>) -> rusqlite::Result<String> {
    let bytes = row.get_ref(0)?.as_bytes_or_null()?.unwrap_or_default();
    Ok(String::from_utf8_lossy(bytes).into_owned())
}

fn finding(question: &Question, finding: String) -> Damage {
    Damage { place: question.place.to_owned(), finding }
}
