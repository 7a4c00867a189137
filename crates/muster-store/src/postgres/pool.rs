//! Connections, opened when first needed and passed from caller to caller.

use std::{
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use super::{connect::Connector, link::PostgresLink};
use crate::StoreError;

/// Connections of one process. A server of PostgreSQL takes a hundred by default.
const LINKS_MAX: usize = 24;
/// Connections kept while nobody uses them.
const LINKS_KEPT_MAX: usize = 8;
/// How long a caller waits for one.
const LINK_WAIT_MAX: Duration = Duration::from_secs(30);

/// The connections of one store.
pub(super) struct PostgresPool {
    connector: Connector,
    state: Mutex<State>,
    returned: Condvar,
}

#[derive(Default)]
struct State {
    idle: Vec<PostgresLink>,
    open: usize,
}

/// A connection until it is dropped.
pub(super) struct PooledLink<'a> {
    pool: &'a PostgresPool,
    link: Option<PostgresLink>,
    /// Whether it was used before, so that the server may have ended it.
    pub(super) is_used: bool,
}

impl PostgresPool {
    pub(super) fn new(connector: Connector) -> Self {
        Self { connector, state: Mutex::default(), returned: Condvar::new() }
    }

    pub(super) fn connector(&self) -> &Connector {
        &self.connector
    }

    /// An idle connection, or a new one.
    pub(super) fn take(&self) -> Result<PooledLink<'_>, StoreError> {
        let started = Instant::now();
        let (mut state, _) = self
            .returned
            .wait_timeout_while(self.state(), LINK_WAIT_MAX, |state| {
                state.idle.is_empty() && state.open >= LINKS_MAX
            })
            .unwrap_or_else(PoisonError::into_inner);
        while let Some(link) = state.idle.pop() {
            if !link.is_closed() {
                return Ok(PooledLink { pool: self, link: Some(link), is_used: true });
            }
            state.open -= 1;
        }
        if state.open >= LINKS_MAX {
            let waited_ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
            return Err(StoreError::Busy { waited_ms });
        }
        state.open += 1;
        drop(state);
        let mut pooled = PooledLink { pool: self, link: None, is_used: false };
        pooled.link = Some(self.connector.connect()?);
        Ok(pooled)
    }

    /// A link is moved in and out whole, so a panic elsewhere cannot leave the pool half changed.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl PooledLink<'_> {
    pub(super) fn get(&mut self) -> Result<&mut PostgresLink, StoreError> {
        let lost = || StoreError::Unavailable { cause: "the connection was lost".to_owned() };
        self.link.as_mut().ok_or_else(lost)
    }

    /// Puts a new connection in the place of this one, which turned out to be ended.
    pub(super) fn replace(&mut self) -> Result<(), StoreError> {
        self.link = None;
        self.link = Some(self.pool.connector.connect()?);
        self.is_used = false;
        Ok(())
    }

    /// Closes the connection.
    pub(super) fn discard(&mut self) {
        self.link = None;
    }
}

impl Drop for PooledLink<'_> {
    fn drop(&mut self) {
        let link = self.link.take().filter(|link| !link.is_closed());
        let mut state = self.pool.state();
        match link.filter(|_| state.idle.len() < LINKS_KEPT_MAX) {
            Some(link) => state.idle.push(link),
            None => state.open -= 1,
        }
        drop(state);
        self.pool.returned.notify_one();
    }
}
