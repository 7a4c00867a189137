//! A connection inside a transaction. Statements that need no answer wait for the next one that
//! does, and the transaction begins with the first of them, so that each of these costs no round
//! trip of its own.

use tokio_postgres::Row;

use super::{
    link::{Order, text},
    pool::PooledLink,
    row::{column, count},
};
use crate::StoreError;

/// What a transaction is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// All reads see one moment.
    Read,
    /// A stream is locked before anything of it is read, so each read sees the newest commit of it.
    Write,
}

impl Purpose {
    fn begin(self) -> &'static str {
        match self {
            Self::Read => "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
            Self::Write => {
                "BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL lock_timeout = 25000; \
                 SET LOCAL idle_in_transaction_session_timeout = 60000"
            }
        }
    }
}

const LOOK_UP: &str = "SELECT id, seq, ended FROM muster.stream WHERE name = $1";
const LOCK: &str = "SELECT id, seq, ended FROM muster.stream WHERE name = $1 FOR UPDATE";
const ADD_STREAM: &str = "INSERT INTO muster.stream (name) VALUES ($1) ON CONFLICT DO NOTHING";

/// The row of a stream.
#[derive(Clone, Debug)]
pub(super) struct KnownStream {
    pub(super) name: String,
    pub(super) id: i64,
    pub(super) seq: u64,
    pub(super) ended: bool,
}

/// A transaction of the server.
pub(super) struct PostgresSession<'a> {
    link: PooledLink<'a>,
    purpose: Purpose,
    begun: bool,
    /// What was not sent yet.
    waiting: Vec<Order>,
    /// Streams that were looked up; in a write they are locked.
    known: Vec<KnownStream>,
    broken: Option<StoreError>,
}

impl<'a> PostgresSession<'a> {
    pub(super) fn new(link: PooledLink<'a>, purpose: Purpose) -> Self {
        let known = Vec::new();
        Self { link, purpose, begun: false, waiting: Vec::new(), known, broken: None }
    }

    /// Runs a statement, after those that wait; returns its rows.
    pub(super) fn ask(&mut self, order: Order) -> Result<Vec<Row>, StoreError> {
        if let Some(error) = &self.broken {
            return Err(error.clone());
        }
        let mut orders = Vec::with_capacity(self.waiting.len() + 2);
        if !self.begun {
            orders.push(Order::plain("began a transaction", self.purpose.begin()));
        }
        orders.append(&mut self.waiting);
        orders.push(order);
        let answered = self.send(&orders);
        let mut answers = answered.inspect_err(|error| self.broken = Some(error.clone()))?;
        Ok(answers.pop().unwrap_or_default())
    }

    fn send(&mut self, orders: &[Order]) -> Result<Vec<Vec<Row>>, StoreError> {
        let is_first = !std::mem::replace(&mut self.begun, true);
        let commits = orders.last().is_some_and(|order| order.parameters.is_none());
        let answered = self.link.get()?.run(orders);
        match answered {
            // The server ended the connection while nobody used it. Nothing can have happened.
            Err(StoreError::Unavailable { .. }) if is_first && !commits && self.link.is_used => {
                self.link.replace()?;
                self.link.get()?.run(orders)
            }
            answered => answered,
        }
    }

    /// Runs a statement with the next one that is asked.
    pub(super) fn later(&mut self, order: Order) {
        self.waiting.push(order);
    }

    /// The first row of a statement.
    pub(super) fn one<T>(
        &mut self,
        order: Order,
        read: impl FnOnce(&Row) -> Result<T, StoreError>,
    ) -> Result<Option<T>, StoreError> {
        self.ask(order)?.first().map(read).transpose()
    }

    /// All rows of a statement.
    pub(super) fn many<T>(
        &mut self,
        order: Order,
        read: impl FnMut(&Row) -> Result<T, StoreError>,
    ) -> Result<Vec<T>, StoreError> {
        self.ask(order)?.iter().map(read).collect()
    }

    /// A stream, if it was ever written to. In a write it is locked, and added if need be.
    pub(super) fn stream(&mut self, name: &str) -> Result<Option<KnownStream>, StoreError> {
        if let Some(known) = self.known.iter().find(|known| known.name == name) {
            return Ok(Some(known.clone()));
        }
        let found = match self.purpose {
            Purpose::Read => self.look_up(LOOK_UP, name)?,
            Purpose::Write => match self.look_up(LOCK, name)? {
                Some(found) => Some(found),
                None => {
                    self.later(Order::of("added a stream", ADD_STREAM, vec![text(name)]));
                    self.look_up(LOCK, name)?
                }
            },
        };
        self.known.extend(found.clone());
        Ok(found)
    }

    fn look_up(
        &mut self,
        sql: &'static str,
        name: &str,
    ) -> Result<Option<KnownStream>, StoreError> {
        let read = |row: &Row| {
            let name = name.to_owned();
            Ok(KnownStream {
                name,
                id: column(row, 0)?,
                seq: count(row, 1)?,
                ended: column(row, 2)?,
            })
        };
        self.one(Order::of("looked up a stream", sql, vec![text(name)]), read)
    }

    /// Accounts for what the transaction itself has written to a stream.
    pub(super) fn advance(&mut self, name: &str, seq: u64, ended: bool) {
        if let Some(known) = self.known.iter_mut().find(|known| known.name == name) {
            known.seq = seq;
            known.ended = ended;
        }
    }

    /// Makes everything durable.
    pub(super) fn commit(&mut self) -> Result<(), StoreError> {
        if !self.begun && self.waiting.is_empty() && self.broken.is_none() {
            return Ok(());
        }
        self.ask(Order::plain("committed", "COMMIT"))?;
        self.begun = false;
        Ok(())
    }
}

impl Drop for PostgresSession<'_> {
    fn drop(&mut self) {
        match &self.broken {
            Some(StoreError::Unavailable { .. }) => self.link.discard(),
            Some(_) | None if self.begun => {
                if let Ok(link) = self.link.get() {
                    link.forget("ROLLBACK");
                }
            }
            Some(_) | None => {}
        }
    }
}
