//! Work beside the caller. What is started is boxed first, so that the runtime's part of a task is
//! compiled once for each type of result, not for each place that starts one.

use std::pin::Pin;

use tokio::task::JoinHandle;

/// Starts a task.
pub(crate) fn spawn<T: Send + 'static>(
    work: impl Future<Output = T> + Send + 'static,
) -> JoinHandle<T> {
    let work: Pin<Box<dyn Future<Output = T> + Send>> = Box::pin(work);
    tokio::spawn(work)
}

/// Starts work that blocks its thread.
pub(crate) fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> JoinHandle<T> {
    let work: Box<dyn FnOnce() -> T + Send> = Box::new(work);
    tokio::task::spawn_blocking(work)
}
