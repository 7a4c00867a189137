//! Documents and events as the rows of statements have them.

use std::borrow::Cow;

use muster_core::{Address, Index, Subject, Timestamp};
use rusqlite::Row;

use super::pieces;
use crate::{DocumentRow, EventRow};

/// A document from a row that starts with the columns of every document read here.
pub(super) fn document(kind: Cow<'static, str>, row: &Row<'_>) -> rusqlite::Result<DocumentRow> {
    Ok(DocumentRow {
        address: Address { kind, name: row.get(0)? },
        version: row.get(1)?,
        index: Index {
            ord: row.get(2)?,
            parent: row.get(3)?,
            status: Cow::Owned(row.get(4)?),
            rank: row.get(5)?,
            marks: pieces::marks(row.get(6)?),
        },
        body: row.get(7)?,
    })
}

/// An event from a row with the columns of every event read here.
pub(super) fn event(row: &Row<'_>) -> rusqlite::Result<EventRow> {
    let entity: Option<String> = row.get(4)?;
    let scope: Option<String> = row.get(5)?;
    Ok(EventRow {
        global: row.get(0)?,
        seq: row.get(1)?,
        at: Timestamp(row.get(2)?),
        kind: row.get(3)?,
        subject: entity.map(|entity| Subject { entity, scope: scope.unwrap_or_default() }),
        body: row.get(6)?,
        shown: row.get(7)?,
        by: row.get(8)?,
        intent: row.get(9)?,
    })
}
