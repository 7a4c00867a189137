//! The store on PostgreSQL: one database, shared by any number of servers.
//!
//! ```text
//!   begin ── lock the stream's row ── read, write ── COMMIT     one writer for each stream
//!   snapshot ── repeatable read, from its first read on
//! ```
//!
//! Order is that of the lock on the row of the stream, never of a sequence: numbers of a sequence
//! are taken before commits are ordered. Streams of different names never wait for each other.
//! Only what every engine with this protocol has is used: row locks, `RETURNING`, unique keys.

mod check;
mod connect;
mod failure;
mod layout;
mod link;
mod listing;
mod pool;
mod row;
mod search;
mod session;
#[cfg(test)]
mod tests;
mod text;
mod tls;
mod transaction;
mod view;

use std::path::Path;

use self::{
    connect::Connector,
    link::Order,
    pool::PostgresPool,
    row::{column, count},
    session::{PostgresSession, Purpose},
    transaction::PostgresTransaction,
};
use crate::{
    Damage, Description, PostgresAddress, Store, StoreAccess, StoreError, StoreSnapshot,
    Transaction,
};

const POSITION: &str = "SELECT coalesce(sum(seq), 0)::bigint FROM muster.stream";
const DESCRIBE: &str =
    "SELECT current_setting('server_version'), pg_database_size(current_database())";
const UNSAFE_SETTINGS: &str = "SELECT name FROM pg_catalog.pg_settings \
    WHERE name IN ('fsync', 'full_page_writes', 'synchronous_commit') AND setting = 'off'";

/// A store in a database of PostgreSQL.
pub struct PostgresStore {
    pool: PostgresPool,
    layout: u32,
}

impl PostgresStore {
    /// Opens the store; creates or migrates it unless it is only to be looked at.
    pub fn open(address: PostgresAddress, access: StoreAccess) -> Result<Self, StoreError> {
        let pool = PostgresPool::new(Connector::new(address)?);
        let mut pooled = pool.take()?;
        let link = pooled.get()?;
        let layout = match (layout::version(link)?, access) {
            (Some(layout::LAYOUT), _) => layout::LAYOUT,
            (Some(found), StoreAccess::Look) => found,
            (None, StoreAccess::Look) => {
                let path = pool.connector().address().to_string().into();
                return Err(StoreError::Absent { path });
            }
            (Some(_) | None, StoreAccess::Work | StoreAccess::Afresh) => {
                layout::migrate(link)?;
                layout::LAYOUT
            }
        };
        if access != StoreAccess::Look {
            warn_of_unsafe_settings(link)?;
        }
        drop(pooled);
        Ok(Self { pool, layout })
    }

    fn session(&self, purpose: Purpose) -> Result<PostgresSession<'_>, StoreError> {
        Ok(PostgresSession::new(self.pool.take()?, purpose))
    }

    /// Engine and size of the database.
    fn examine(&self) -> Result<(String, u64), StoreError> {
        let mut session = self.session(Purpose::Read)?;
        let order = Order::of("asked for its version", DESCRIBE, Vec::new());
        let read = |row: &tokio_postgres::Row| Ok((column(row, 0)?, count(row, 1)?));
        Ok(session.one(order, read)?.unwrap_or_default())
    }
}

/// Says so if the server is set up to lose what it has acknowledged.
fn warn_of_unsafe_settings(link: &mut link::PostgresLink) -> Result<(), StoreError> {
    let order = Order::of("read the server's settings", UNSAFE_SETTINGS, Vec::new());
    for row in link.run(&[order])?.pop().unwrap_or_default() {
        let setting: String = column(&row, 0)?;
        tracing::warn!(
            setting,
            "this setting of the database server is off; a crash can lose acknowledged writes"
        );
    }
    Ok(())
}

impl Store for PostgresStore {
    fn begin(&self) -> Result<Box<dyn Transaction + '_>, StoreError> {
        Ok(Box::new(PostgresTransaction::new(self.session(Purpose::Write)?)))
    }

    /// A write waits only for others to the same stream, which is not known here.
    fn is_free(&self) -> bool {
        true
    }

    fn snapshot(&self) -> Result<Box<dyn StoreSnapshot + '_>, StoreError> {
        Ok(Box::new(self.session(Purpose::Read)?))
    }

    fn position(&self) -> Result<u64, StoreError> {
        let mut session = self.session(Purpose::Read)?;
        let order = Order::of("looked for other commits", POSITION, Vec::new());
        Ok(session.one(order, |row| count(row, 0))?.unwrap_or(0))
    }

    /// The server cleans up by itself.
    fn rest(&self) -> Result<(), StoreError> {
        Ok(())
    }

    fn backup(&self, target: &Path) -> Result<(), StoreError> {
        Err(StoreError::Directory {
            path: target.to_owned(),
            cause: "a database of PostgreSQL is copied with its own pg_dump".to_owned(),
        })
    }

    fn check(&self) -> Result<Vec<Damage>, StoreError> {
        check::damage(&mut self.session(Purpose::Read)?)
    }

    fn describe(&self) -> Description {
        let (version, bytes) = match self.examine() {
            Ok((version, bytes)) => (version, Some(bytes)),
            Err(error) => {
                tracing::warn!(%error, "could not ask the database for its version");
                ("unreachable".to_owned(), None)
            }
        };
        Description {
            engine: format!("PostgreSQL {version}"),
            location: Some(self.pool.connector().address().to_string()),
            bytes,
            schema_version: self.layout,
            is_older: self.layout < layout::LAYOUT,
            kept: Vec::new(),
        }
    }
}
