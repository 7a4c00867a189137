//! Looks for damage. Nothing here writes.

use super::{link::Order, row::column, session::PostgresSession};
use crate::{Damage, StoreError};

/// Statements whose every row is damage, each with its place.
const QUESTIONS: [(&str, &str); 5] = [
    (
        "stream",
        "SELECT s.name || ' has events from ' || coalesce(min(e.seq), 0) || ' to ' || \
         coalesce(max(e.seq), 0) || ' with ' || count(e.seq) || ' events, its head is ' || s.seq \
         FROM muster.stream s LEFT JOIN muster.event e ON e.stream = s.id GROUP BY s.id \
         HAVING count(e.seq) <> coalesce(max(e.seq) - min(e.seq) + 1, 0) \
         OR coalesce(max(e.seq), 0) <> s.seq OR NOT s.ended AND coalesce(min(e.seq), 1) <> 1 \
         OR s.ended AND count(e.seq) = 0 LIMIT 100",
    ),
    (
        "references",
        "SELECT 'an event is of stream ' || stream || ', which is not there' FROM muster.event e \
         WHERE NOT EXISTS (SELECT 1 FROM muster.stream s WHERE s.id = e.stream) LIMIT 100",
    ),
    (
        "references",
        "SELECT kind || ' ' || name || ' is of stream ' || stream || ', which is not there' \
         FROM muster.document d \
         WHERE NOT EXISTS (SELECT 1 FROM muster.stream s WHERE s.id = d.stream) LIMIT 100",
    ),
    (
        "piece",
        "SELECT d.kind || ' ' || d.name || ' has ' || d.pieces || ' pieces, stored are ' || \
         (1 + count(p.number)) FROM muster.document d \
         LEFT JOIN muster.piece p ON p.document = d.id AND p.number < d.pieces \
         WHERE d.pieces > 1 GROUP BY d.id HAVING count(p.number) <> d.pieces - 1 LIMIT 100",
    ),
    (
        "search",
        "SELECT 'events of ' || s.name || ' are indexed up to ' || i.seq || \
         ', which it has not reached' FROM muster.event_indexed i \
         JOIN muster.stream s ON s.id = i.stream WHERE i.seq > s.seq LIMIT 100",
    ),
];

/// All damage found.
pub(super) fn damage(session: &mut PostgresSession<'_>) -> Result<Vec<Damage>, StoreError> {
    let mut found = Vec::new();
    for (place, sql) in QUESTIONS {
        let order = Order::of("looked for damage", sql, Vec::new());
        for row in session.ask(order)? {
            found.push(Damage { place: place.to_owned(), finding: column(&row, 0)? });
        }
    }
    Ok(found)
}
