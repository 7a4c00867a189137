//! The order of the calls of one stdio connection.
//!
//! The service loop runs every request as its own task. A client that writes several calls before
//! it reads the first answer still means them in order, so each call takes its place while the
//! lines are read: a writing call runs alone, reading calls run concurrently, and nothing overtakes
//! a writer.

use std::{
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll, Waker},
};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

const READS_AT_ONCE_MAX: u32 = 8;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LaneNeed {
    /// Runs concurrently with other readers.
    Reader,
    /// Runs alone.
    Writer,
}

/// The queue of one connection.
#[derive(Debug)]
pub(crate) struct ConnectionLane {
    places: Arc<Semaphore>,
}

type Waiting = Pin<Box<dyn Future<Output = Option<OwnedSemaphorePermit>> + Send>>;

enum State {
    Waiting(Waiting),
    Arrived(Option<OwnedSemaphorePermit>),
}

/// A place in the lane. Dropping it releases the place.
#[derive(Clone)]
pub(crate) struct LaneTurn(Arc<Mutex<State>>);

impl ConnectionLane {
    pub(crate) fn new() -> Self {
        Self { places: Arc::new(Semaphore::new(READS_AT_ONCE_MAX as usize)) }
    }

    /// Takes the next place, now.
    pub(crate) fn join(&self, share: LaneNeed) -> LaneTurn {
        let places = Arc::clone(&self.places);
        let count = match share {
            LaneNeed::Reader => 1,
            LaneNeed::Writer => READS_AT_ONCE_MAX,
        };
        let waiting = async move { places.acquire_many_owned(count).await.ok() };
        // Unconstrained, because the first poll must reach the semaphore's queue whatever the
        // reading task's budget is.
        let mut waiting: Waiting = Box::pin(tokio::task::unconstrained(waiting));
        let state = match waiting.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(place) => State::Arrived(place),
            Poll::Pending => State::Waiting(waiting),
        };
        LaneTurn(Arc::new(Mutex::new(state)))
    }
}

impl LaneTurn {
    /// Waits for the place; holding the permit keeps it.
    pub(crate) async fn wait(&self) -> Option<OwnedSemaphorePermit> {
        std::future::poll_fn(|context| {
            let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            match &mut *state {
                State::Arrived(place) => Poll::Ready(place.take()),
                State::Waiting(waiting) => waiting.as_mut().poll(context),
            }
        })
        .await
    }
}
