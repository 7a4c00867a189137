//! Readers: a few connections that are opened when first needed and passed from caller to caller.

use std::{
    ops::Deref,
    path::PathBuf,
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use super::{
    link::{Link, Role},
    view::View,
};
use crate::{SqliteOptions, StoreAccess, StoreError};

/// How long a caller waits for a reader before it gets one beyond the pool's size. Reads are short,
/// so waiting is cheaper than opening; the bound is for callers that hold several snapshots.
const READER_WAIT_MAX: Duration = Duration::from_millis(20);

/// The readers of one store.
pub(super) struct Pool {
    path: PathBuf,
    options: SqliteOptions,
    state: Mutex<State>,
    returned: Condvar,
}

#[derive(Default)]
struct State {
    idle: Vec<Link>,
    open: usize,
}

/// A reader inside a read transaction, until it is dropped.
pub(super) struct PooledReader<'a> {
    pool: &'a Pool,
    link: Option<Link>,
}

impl Pool {
    pub(super) fn new(path: PathBuf, options: SqliteOptions) -> Self {
        Self { path, options, state: Mutex::default(), returned: Condvar::new() }
    }

    /// Adds a connection that was opened for something else.
    pub(super) fn adopt(&self, link: Link) {
        let mut state = self.state();
        state.open += 1;
        state.idle.push(link);
    }

    /// A view of this moment.
    pub(super) fn view(&self) -> Result<View<PooledReader<'_>>, StoreError> {
        let reader = PooledReader { pool: self, link: Some(self.take()?) };
        let begun =
            reader.connection.prepare_cached("BEGIN").and_then(|mut begin| begin.execute([]));
        begun.map_err(|error| reader.failed("began to read", &error))?;
        View::new(reader)
    }

    /// A separate connection, outside the pool.
    pub(super) fn open(&self) -> Result<Link, StoreError> {
        match self.options.access {
            StoreAccess::Work | StoreAccess::Afresh => {
                Link::open(&self.path, Role::Reader, &self.options)
            }
            StoreAccess::Look => self.guest(),
        }
    }

    /// A connection that leaves the files unchanged.
    pub(super) fn guest(&self) -> Result<Link, StoreError> {
        Link::open(&self.path, Role::Guest, &self.options)
    }

    fn take(&self) -> Result<Link, StoreError> {
        let full = |state: &mut State| state.idle.is_empty() && state.open >= self.options.readers;
        let (mut state, _) = self
            .returned
            .wait_timeout_while(self.state(), READER_WAIT_MAX, full)
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(link) = state.idle.pop() {
            return Ok(link);
        }
        state.open += 1;
        drop(state);
        self.open().inspect_err(|_| self.state().open -= 1)
    }

    /// Links are moved in and out whole, so a panic elsewhere cannot leave the list half changed.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Deref for PooledReader<'_> {
    type Target = Link;

    fn deref(&self) -> &Link {
        self.link.as_ref().unwrap_or_else(|| unreachable!("the link is only taken by drop"))
    }
}

impl Drop for PooledReader<'_> {
    fn drop(&mut self) {
        let Some(link) = self.link.take() else { return };
        let ended = link.connection.prepare_cached("ROLLBACK").and_then(|mut end| end.execute([]));
        let mut state = self.pool.state();
        // A connection that cannot end its transaction is closed; the next caller opens a fresh
        // one.
        if ended.is_ok() && state.open <= self.pool.options.readers {
            state.idle.push(link);
            self.pool.returned.notify_one();
        } else {
            state.open -= 1;
        }
    }
}
