//! Documents and events as the rows of statements have them.

use std::borrow::Cow;

use muster_core::{Address, Index, Subject, Timestamp};
use tokio_postgres::Row;

use super::{failure, text::ColumnValue};
use crate::{DocumentRow, EventRow, StoreError};

/// Columns of a document.
pub(super) const DOCUMENT_COLUMNS: usize = 9;
/// Columns of an event.
pub(super) const EVENT_COLUMNS: usize = 9;

/// A column's value.
pub(super) fn column<T: ColumnValue>(row: &Row, at: usize) -> Result<T, StoreError> {
    T::read(row, at).map_err(|error| StoreError::Damaged {
        place: format!("column {at} of a row"),
        finding: failure::spelled_out(&error),
    })
}

/// A column's number, which is never negative.
pub(super) fn count(row: &Row, at: usize) -> Result<u64, StoreError> {
    column::<i64>(row, at).map(i64::cast_unsigned)
}

/// A document from a row that starts with the columns of every document read here.
pub(super) fn document(row: &Row) -> Result<DocumentRow, StoreError> {
    let kind: String = column(row, 0)?;
    let status: String = column(row, 5)?;
    let rank: Option<i64> = column(row, 6)?;
    let marks: i64 = column(row, 7)?;
    Ok(DocumentRow {
        address: Address { kind: Cow::Owned(kind), name: column(row, 1)? },
        version: count(row, 2)?,
        index: Index {
            ord: count(row, 3)?,
            parent: column(row, 4)?,
            status: Cow::Owned(status),
            rank: rank.and_then(|rank| u32::try_from(rank).ok()),
            marks: (marks & 0xFF) as u8,
        },
        body: column(row, 8)?,
    })
}

/// An event from a row that starts with the columns of every event read here.
pub(super) fn event(row: &Row) -> Result<EventRow, StoreError> {
    let seq = count(row, 0)?;
    let entity: Option<String> = column(row, 3)?;
    let scope: Option<String> = column(row, 4)?;
    Ok(EventRow {
        global: seq,
        seq,
        at: Timestamp(column(row, 1)?),
        kind: column(row, 2)?,
        subject: entity.map(|entity| Subject { entity, scope: scope.unwrap_or_default() }),
        body: column(row, 5)?,
        shown: column(row, 6)?,
        by: column(row, 7)?,
        intent: column(row, 8)?,
    })
}
