//! Takes the reports of hooks into the store: a server all the time, a command before it shows
//! sessions.

use std::{path::Path, sync::Arc, time::Duration};

use muster_api::{App, ReportsFault};
use tokio::time::{Instant, sleep};

use crate::{config::Settings, storage, workspace};

/// How often a server looks for reports. Looking costs two look-ups of names.
const LOOK_INTERVAL: Duration = Duration::from_millis(150);
/// How often it looks whether the agents still run.
const AGENTS_INTERVAL: Duration = Duration::from_secs(3);
/// How long it waits after reports could not be recorded.
const FAILURE_PAUSE: Duration = Duration::from_secs(5);

/// Records reports as they come, until the task is dropped.
pub(crate) async fn run(app: Arc<App>) {
    let mut until_agents = Instant::now();
    loop {
        sleep(LOOK_INTERVAL).await;
        let looks_at_agents = until_agents <= Instant::now();
        if looks_at_agents {
            until_agents = Instant::now() + AGENTS_INTERVAL;
        }
        let looking = Arc::clone(&app);
        let look = move || {
            if looking.sessions().has_reports() {
                record(&looking)?;
            }
            if looks_at_agents {
                looking.sessions().end_lost()?;
            }
            Ok::<(), ReportsFault>(())
        };
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
    let look = || record(app).and_then(|()| Ok(app.sessions().end_lost()?));
    if let Err(fault) = look() {
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
