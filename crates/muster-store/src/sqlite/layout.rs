//! The tables, and how a file of an older layout is migrated.

use rusqlite::{Connection, OptionalExtension as _};

use super::link::Link;
use crate::StoreError;

/// Newest layout that this program knows; the number of migrations.
pub const SCHEMA_VERSION: u32 = MIGRATIONS.len() as u32;

/// Marks the file as Muster's for tools such as `file`: "MSTR".
const APPLICATION_ID: u32 = 0x4D53_5452;

/// SQL that leads from version `n` to `n + 1`, at place `n`. Released entries are never edited.
const MIGRATIONS: &[&str] = &[
    include_str!("layout/1.sql"),
    include_str!("layout/2.sql"),
    include_str!("layout/3.sql"),
    include_str!("layout/4.sql"),
    include_str!("layout/5.sql"),
    include_str!("layout/6.sql"),
    include_str!("layout/7.sql"),
    include_str!("layout/8.sql"),
    include_str!("layout/9.sql"),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FileLayout {
    /// Nothing in it yet.
    Empty,
    /// Tables, but not those of this program.
    Foreign,
    /// A store with this layout version.
    Version(u32),
}

/// Turns write-ahead logging on, which the file records.
pub(super) fn ensure_wal(link: &Link) -> Result<(), StoreError> {
    let failed = |error| link.failed("turned write-ahead logging on", &error);
    let mode = last_text(&link.connection, "PRAGMA journal_mode = WAL").map_err(failed)?;
    if mode == "wal" {
        return Ok(());
    }
    let cause = format!("the journal mode stays {mode}");
    Err(StoreError::Engine { action: "turned write-ahead logging on", cause })
}

/// Runs a statement to its end: SQLite returns "wal" before it has written it to the file, and a
/// write failure shows only in the next step.
fn last_text(connection: &Connection, sql: &str) -> rusqlite::Result<String> {
    let mut statement = connection.prepare(sql)?;
    let rows = statement.query_map([], |row| row.get(0))?;
    rows.last().unwrap_or(Err(rusqlite::Error::QueryReturnedNoRows))
}

/// Reads the layout version without changing anything.
pub(super) fn detect(connection: &Connection) -> rusqlite::Result<FileLayout> {
    let ours: Option<bool> = connection
        .query_row("SELECT max(name = 'meta') FROM sqlite_schema WHERE type = 'table'", [], |row| {
            row.get(0)
        })
        .optional()?
        .flatten();
    match ours {
        None => Ok(FileLayout::Empty),
        Some(false) => Ok(FileLayout::Foreign),
        Some(true) => {
            let version: Option<u32> = connection
                .query_row("SELECT v FROM meta WHERE k = 'layout'", [], |row| row.get(0))
                .optional()?;
            Ok(version.map_or(FileLayout::Foreign, FileLayout::Version))
        }
    }
}

/// Migrates the file from version `from` to the current one in one transaction.
pub(super) fn migrate(connection: &mut Connection, from: u32) -> rusqlite::Result<()> {
    let behavior = rusqlite::TransactionBehavior::Immediate;
    let transaction = connection.transaction_with_behavior(behavior)?;
    for sql in &MIGRATIONS[from as usize..] {
        transaction.execute_batch(sql)?;
    }
    transaction.execute(
        "INSERT INTO meta(k, v) VALUES ('layout', ?1) ON CONFLICT (k) DO UPDATE SET v = excluded.v",
        [SCHEMA_VERSION],
    )?;
    transaction.execute(
        "INSERT INTO meta(k, v) VALUES ('instance', lower(hex(randomblob(16)))) \
         ON CONFLICT (k) DO NOTHING",
        [],
    )?;
    transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
    transaction.commit()
}
