//! File operations of tools. A file system may block a caller forever (a mount whose server is
//! gone, or is the agent), so they run apart from what drives the runs, in a few slots per run, and
//! return after a while whatever happens.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError, Weak},
    time::Duration,
};

use muster_core::run::{event::ToolError, id::RunId};
use tokio::sync::Semaphore;

use super::fault;

/// Concurrent calls of one run that touch files. One that hangs keeps its slot.
const CALLS_MAX: usize = 4;
/// Time limit of one call, including the wait for a slot.
const CALL_TIMEOUT: Duration = Duration::from_secs(30);

/// The calls that touch files, by run.
#[derive(Default)]
pub(crate) struct FileCalls(Mutex<BTreeMap<RunId, Weak<Semaphore>>>);

impl FileCalls {
    /// Runs this work for a run; it blocks.
    pub(crate) async fn perform<T: Send + 'static>(
        &self,
        run: RunId,
        work: impl FnOnce() -> Result<T, ToolError> + Send + 'static,
    ) -> Result<T, ToolError> {
        self.perform_within(run, CALL_TIMEOUT, work).await
    }

    async fn perform_within<T: Send + 'static>(
        &self,
        run: RunId,
        within: Duration,
        work: impl FnOnce() -> Result<T, ToolError> + Send + 'static,
    ) -> Result<T, ToolError> {
        let places = self.of(run);
        let done = async move {
            let place = places.acquire_owned().await;
            let worked = crate::background::blocking(move || {
                let outcome = work();
                drop(place);
                outcome
            });
            worked.await.unwrap_or_else(|error| Err(fault("FAILED", error.to_string())))
        };
        let seconds = within.as_secs();
        let late = || format!("the file system did not respond within {seconds} seconds");
        tokio::time::timeout(within, done).await.unwrap_or_else(|_| Err(fault("TIMEOUT", late())))
    }

    /// The slots of a run. They are dropped when none is in use.
    fn of(&self, run: RunId) -> Arc<Semaphore> {
        let mut runs = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(places) = runs.get(&run).and_then(Weak::upgrade) {
            return places;
        }
        runs.retain(|_, places| places.strong_count() > 0);
        let places = Arc::new(Semaphore::new(CALLS_MAX));
        runs.insert(run, Arc::downgrade(&places));
        places
    }
}

#[cfg(test)]
mod tests {
    use std::{sync::mpsc, time::Duration};

    use muster_core::run::id::RunId;

    use super::{CALLS_MAX, FileCalls};

    const SOON: Duration = Duration::from_millis(200);

    #[tokio::test]
    async fn calls_that_hang_are_answered_and_harm_no_other_run() {
        let calls = FileCalls::default();
        let mut hanging = Vec::new();
        for _ in 0..CALLS_MAX {
            let (release, released) = mpsc::channel::<()>();
            hanging.push(release);
            let work = move || {
                released.recv().unwrap_or_default();
                Ok(())
            };
            let outcome = calls.perform_within(RunId(1), SOON, work).await;
            assert_eq!(outcome.unwrap_err().code.as_deref(), Some("TIMEOUT"));
        }
        let none_left = calls.perform_within(RunId(1), SOON, || Ok(())).await;
        assert_eq!(none_left.unwrap_err().code.as_deref(), Some("TIMEOUT"));
        assert_eq!(calls.perform(RunId(2), || Ok(7)).await, Ok(7));
        drop(hanging);
        assert_eq!(calls.perform(RunId(1), || Ok(8)).await, Ok(8));
    }
}
