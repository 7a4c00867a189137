//! A call seen from outside while it runs: it reports how far it is, and its caller may cancel it.

use std::{
    fmt,
    sync::{Arc, Mutex, PoisonError},
};

type Listener = Box<dyn Fn(String) + Send + Sync>;
type Reaction = Box<dyn FnOnce() + Send>;

/// What a surface and an operation share about one call. The default is a call that no
/// surface watches: its reports go nowhere and it is never cancelled.
#[derive(Clone, Default)]
pub struct CallWatch(Option<Arc<Watched>>);

struct Watched {
    listener: Listener,
    state: Mutex<WatchState>,
}

enum WatchState {
    /// Not cancelled, and what to do when it is.
    Running(Vec<Reaction>),
    Cancelled,
}

impl CallWatch {
    /// A call whose reports go to `listener`, which must not block.
    pub fn new(listener: impl Fn(String) + Send + Sync + 'static) -> Self {
        let state = Mutex::new(WatchState::Running(Vec::new()));
        Self(Some(Arc::new(Watched { listener: Box::new(listener), state })))
    }

    /// Says in one line for people what the call is doing now.
    pub fn report(&self, what: impl Into<String>) {
        if let Some(watched) = &self.0 {
            (watched.listener)(what.into());
        }
    }

    /// Asks the call to stop. An operation that has begun to write completes.
    pub fn cancel(&self) {
        let Some(watched) = &self.0 else { return };
        let mut state = watched.state.lock().unwrap_or_else(PoisonError::into_inner);
        let before = std::mem::replace(&mut *state, WatchState::Cancelled);
        drop(state);
        match before {
            WatchState::Running(reactions) => reactions.into_iter().for_each(|react| react()),
            WatchState::Cancelled => {}
        }
    }

    pub fn is_cancelled(&self) -> bool {
        let state = self.0.as_ref().map(|watched| &watched.state);
        let state = state.map(|state| state.lock().unwrap_or_else(PoisonError::into_inner));
        state.is_some_and(|state| matches!(*state, WatchState::Cancelled))
    }

    /// Runs `react` once the call is cancelled, at once if it is already: to end a process that an
    /// operation waits for.
    pub fn on_cancel(&self, react: impl FnOnce() + Send + 'static) {
        let Some(watched) = &self.0 else { return };
        let mut state = watched.state.lock().unwrap_or_else(PoisonError::into_inner);
        match &mut *state {
            WatchState::Running(reactions) => reactions.push(Box::new(react)),
            WatchState::Cancelled => {
                drop(state);
                react();
            }
        }
    }
}

impl fmt::Debug for CallWatch {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("CallWatch")
            .field("watched", &self.0.is_some())
            .field("cancelled", &self.is_cancelled())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{
        Arc, Mutex,
        atomic::{AtomicU32, Ordering},
    };

    use super::CallWatch;

    #[test]
    fn reports_reach_the_listener_in_order() {
        let heard = Arc::new(Mutex::new(Vec::new()));
        let into = Arc::clone(&heard);
        let watch = CallWatch::new(move |line| into.lock().unwrap().push(line));
        watch.report("tests: 1 of 2");
        watch.clone().report("tests: 2 of 2");
        assert_eq!(*heard.lock().unwrap(), ["tests: 1 of 2", "tests: 2 of 2"]);
    }

    #[test]
    fn every_reaction_runs_once_even_one_that_comes_late() {
        let count = Arc::new(AtomicU32::new(0));
        let react = || {
            let count = Arc::clone(&count);
            move || {
                count.fetch_add(1, Ordering::Relaxed);
            }
        };
        let watch = CallWatch::new(drop);
        watch.on_cancel(react());
        assert!(!watch.is_cancelled() && count.load(Ordering::Relaxed) == 0);
        watch.cancel();
        watch.cancel();
        watch.on_cancel(react());
        assert!(watch.is_cancelled());
        assert_eq!(count.load(Ordering::Relaxed), 2);
    }

    #[test]
    fn an_unwatched_call_goes_on() {
        let watch = CallWatch::default();
        watch.report("alone");
        watch.on_cancel(|| panic!("it cannot be cancelled"));
        watch.cancel();
        assert!(!watch.is_cancelled());
    }
}
