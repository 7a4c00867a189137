//! Notices panics in every thread of this process, also panics that are caught.

use std::{
    panic::{self, AssertUnwindSafe},
    sync::{Mutex, PoisonError},
};

/// What panicked, the newest last. One for the process, as its hook is.
static SEEN: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Panics are kept instead of printed for as long as this is used.
pub(super) struct Panics(());

impl Panics {
    /// Begins to watch.
    pub(super) fn watch() -> Self {
        panic::set_hook(Box::new(|panicked| {
            seen().push(panicked.to_string());
        }));
        Self(())
    }

    /// Does some work. A panic anywhere until it is done is its fault.
    pub(super) fn guard(&self, work: impl FnOnce() -> Result<(), String>) -> Result<(), String> {
        let outcome = panic::catch_unwind(AssertUnwindSafe(work));
        let panics: Vec<String> = seen().drain(..).collect();
        match (panics.is_empty(), outcome) {
            (true, Ok(outcome)) => outcome,
            (_, _) => Err(panics.join("\n")),
        }
    }

    /// Panics are printed again from now on.
    pub(super) fn give_back(&self) {
        drop(panic::take_hook());
    }
}

fn seen() -> std::sync::MutexGuard<'static, Vec<String>> {
    SEEN.lock().unwrap_or_else(PoisonError::into_inner)
}
