//! Takes the reports of hooks into the store: a server all the time, a command before it shows
//! sessions.

use std::{path::Path, sync::Arc, time::Duration};

use muster_api::{App, ReportsFault};
use tokio::time::sleep;

use crate::{config::Settings, storage, workspace};

/// How often a server looks for reports. Looking costs two look-ups of names.
const LOOK_INTERVAL: Duration = Duration::from_millis(150);
/// How long it waits after reports could not be recorded.
const FAILURE_PAUSE: Duration = Duration::from_secs(5);

/// Records reports as they come, until the task is dropped.
pub(crate) async fn run(app: Arc<App>) {
    loop {
        sleep(LOOK_INTERVAL).await;
        let recording = Arc::clone(&app);
        let look =
            move || if recording.sessions().has_reports() { record(&recording) } else { Ok(()) };
        let failure = match tokio::task::spawn_blocking(look).await {
            Ok(Ok(())) => continue,
            Ok(Err(fault)) => fault.to_string(),
            Err(error) => error.to_string(),
        };
        tracing::warn!(error = failure, "could not record reports of hooks; they wait");
        sleep(FAILURE_PAUSE).await;
    }
}

/// Opens the store of a command that shows sessions.
pub(crate) fn open(settings: &Settings) -> anyhow::Result<App> {
    let app = storage::open_existing(settings)?;
    catch_up(&app);
    Ok(app)
}

/// Records the reports that wait. A command goes on without those that cannot be recorded now.
fn catch_up(app: &App) {
    if let Err(fault) = record(app) {
        tracing::warn!(error = %fault, "could not record reports of hooks; they wait");
    }
}

fn record(app: &App) -> Result<(), ReportsFault> {
    app.sessions().record_reports(&|directory| workspace_of(app, directory))
}

fn workspace_of(app: &App, directory: &Path) -> Option<String> {
    let (found, _) = workspace::of_roots(app, &[directory.to_owned()])?;
    Some(found.name.to_string())
}
