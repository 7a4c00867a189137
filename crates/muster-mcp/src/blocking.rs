//! A blocking call and its client: progress goes one way, cancellation the other.

use std::time::Duration;

use muster_api::CallWatch;
use rmcp::ErrorData;
use tokio::{
    sync::watch,
    time::{Instant, sleep, timeout},
};

use crate::backend::McpCall;

/// A call that takes longer reports progress this often (MCP-TOOL-7).
const PROGRESS_PERIOD: Duration = Duration::from_secs(1);
/// Least time between two reports, however often the operation has news.
const PROGRESS_PAUSE: Duration = Duration::from_millis(250);
/// What is reported as long as the operation itself says nothing.
const WITHOUT_NEWS: &str = "still working";

/// Cancels a call whose client no longer waits for it.
struct CancelOnDrop(CallWatch);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

/// Runs blocking work on another thread. Its reports become progress of the call, whose
/// cancellation reaches it; it keeps the call's place until it has ended.
pub(crate) async fn run<T: Send + 'static>(
    call: &McpCall,
    work: impl FnOnce(&CallWatch) -> T + Send + 'static,
) -> Result<T, ErrorData> {
    let (news, mut heard) = watch::channel(WITHOUT_NEWS.to_owned());
    let watch = CallWatch::new(move |line| {
        news.send_replace(line);
    });
    let cancelling = CancelOnDrop(watch.clone());
    let given = watch.clone();
    let held = call.clone();
    let mut running = tokio::task::spawn_blocking(move || {
        let answer = work(&given);
        drop(held);
        answer
    });
    let began = Instant::now();
    loop {
        tokio::select! {
            ended = &mut running => return ended.map_err(|error| broken(&error)),
            () = call.cancelled(), if !watch.is_cancelled() => cancelling.0.cancel(),
            () = due(&mut heard) => {
                let line = heard.borrow_and_update().clone();
                // Seconds, because progress must increase with each report.
                call.report(began.elapsed().as_secs_f64(), None, &line).await;
            }
        }
    }
}

/// Waits for the time of the next report.
async fn due(heard: &mut watch::Receiver<String>) {
    sleep(PROGRESS_PAUSE).await;
    if let Ok(Err(_nobody_reports)) =
        timeout(PROGRESS_PERIOD - PROGRESS_PAUSE, heard.changed()).await
    {
        std::future::pending::<()>().await;
    }
}

pub(crate) fn broken(error: &tokio::task::JoinError) -> ErrorData {
    tracing::error!(%error, "operation panicked or was cancelled");
    ErrorData::internal_error("the operation failed inside the server", None)
}
