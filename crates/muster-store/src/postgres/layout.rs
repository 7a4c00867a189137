//! The tables, and how a database of an older layout is migrated: by one server at a time, in one
//! transaction, forward only.

use tokio_postgres::Row;

use super::{
    failure,
    link::{Order, PostgresLink, parameter},
    row::{column, count},
};
use crate::StoreError;

/// Newest layout that this program knows; the number of migrations.
pub(super) const LAYOUT: u32 = MIGRATIONS.len() as u32;

/// SQL that leads from version `n` to `n + 1`, at place `n`. Released entries are never edited.
const MIGRATIONS: &[&str] = &[include_str!("layout/1.sql")];

/// Tries to create the first table: two servers that do so at once get in each other's way.
const CREATE_TRIES: u32 = 5;

const EXISTS: &str = "SELECT count(*) FROM pg_catalog.pg_tables \
    WHERE schemaname = 'muster' AND tablename = 'meta'";
const CREATE: &str = "CREATE SCHEMA IF NOT EXISTS muster; \
    CREATE TABLE IF NOT EXISTS muster.meta (k text PRIMARY KEY, v bigint NOT NULL); \
    INSERT INTO muster.meta (k, v) VALUES ('layout', 0) ON CONFLICT DO NOTHING";
const VERSION: &str = "SELECT v FROM muster.meta WHERE k = 'layout'";
const LOCK_VERSION: &str = "SELECT v FROM muster.meta WHERE k = 'layout' FOR UPDATE";
/// Events from the copy of another installation have numbers of transactions that are still to come
/// here, so they count as its first ones.
const ADOPT_COPY: &str = "UPDATE muster.event SET txn = '0' \
    WHERE txn >= pg_snapshot_xmax(pg_current_snapshot())";
const SET_VERSION: &str = "UPDATE muster.meta SET v = $1 WHERE k = 'layout'";

/// The layout of the database; `None` if it holds no store.
pub(super) fn version(link: &mut PostgresLink) -> Result<Option<u32>, StoreError> {
    let exists = Order::of("looked for the store", EXISTS, Vec::new());
    let tables = rows(link, exists)?.first().map_or(Ok(0), |row| count(row, 0))?;
    if tables == 0 {
        return Ok(None);
    }
    let found = number(&rows(link, Order::of("read the layout", VERSION, Vec::new()))?)?;
    match found {
        0 => Ok(None),
        found if found > LAYOUT => Err(StoreError::TooNew { found, known: LAYOUT }),
        found => Ok(Some(found)),
    }
}

/// Creates or migrates the store.
pub(super) fn migrate(link: &mut PostgresLink) -> Result<(), StoreError> {
    create(link)?;
    let locked = [
        Order::plain("began a migration", "BEGIN ISOLATION LEVEL READ COMMITTED"),
        Order::of("locked the layout", LOCK_VERSION, Vec::new()),
    ];
    let migrated = link.run(&locked).and_then(|mut answers| {
        let from = number(&answers.pop().unwrap_or_default())?;
        if from > LAYOUT {
            return Err(StoreError::TooNew { found: from, known: LAYOUT });
        }
        apply(link, from)
    });
    migrated.inspect_err(|_| link.forget("ROLLBACK"))
}

fn apply(link: &mut PostgresLink, from: u32) -> Result<(), StoreError> {
    let mut orders: Vec<Order> = MIGRATIONS[from as usize..]
        .iter()
        .map(|sql| Order::plain("migrated the layout", sql))
        .collect();
    let version = vec![parameter(i64::from(LAYOUT))];
    orders.push(Order::of("wrote the layout", SET_VERSION, version));
    // Not prepared, because the table may only come to exist in this batch.
    orders.push(Order::plain("adopted a copy", ADOPT_COPY));
    link.run(&orders)?;
    link.run(&[Order::plain("committed a migration", "COMMIT")]).map(drop)
}

fn create(link: &mut PostgresLink) -> Result<(), StoreError> {
    let mut tried = 0;
    loop {
        let created = link.run(&[Order::plain("created the first table", CREATE)]);
        tried += 1;
        match created {
            // Another server creates the same at this moment.
            Err(StoreError::Engine { .. }) if tried < CREATE_TRIES => {}
            created => return created.map(drop),
        }
    }
}

fn rows(link: &mut PostgresLink, order: Order) -> Result<Vec<Row>, StoreError> {
    Ok(link.run(&[order])?.pop().unwrap_or_default())
}

fn number(rows: &[Row]) -> Result<u32, StoreError> {
    let version: i64 = rows.first().map_or(Ok(0), |row| column(row, 0))?;
    u32::try_from(version).map_err(|_| failure::no_store())
}
