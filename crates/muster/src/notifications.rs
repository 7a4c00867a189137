//! Notifications of a server: it follows what may change the list of what waits for a person, and
//! hands the list to the notifier (HOST-NOTE-1).

use std::{sync::Arc, time::Duration};

use anyhow::anyhow;
use muster_api::{
    AccessRights, App, Encoded, EventRow, WorkspaceGlob,
    notify::{Notifier, NotifySettings, WaitingItem},
    runs::{ApprovalsRequest, RunsRequest, answers::ApprovalsAnswer},
};
use muster_core::run::{approval::Approval, view::snapshot::Extent};
use tokio::time::{sleep, timeout};

use crate::{
    commands::{attention::Waiting, run::answers::ListedRuns},
    config::{
        NOTIFY_COMMAND, NOTIFY_DESKTOP, NOTIFY_MIN_AGE, NOTIFY_QUIET, NOTIFY_WEBHOOK, Settings,
    },
};

/// How often the list is looked at without news: files change without an event.
const LOOK_INTERVAL: Duration = Duration::from_secs(5);
/// Least time between two looks: a busy run has many events.
const LOOK_PAUSE: Duration = Duration::from_secs(1);
/// Runs whose names are read.
const RUNS_MAX: u32 = 500;

pub(crate) fn settings(settings: &Settings) -> anyhow::Result<NotifySettings> {
    Ok(NotifySettings {
        command: settings.get(&NOTIFY_COMMAND)?.value,
        webhook: settings.get(&NOTIFY_WEBHOOK)?.value,
        desktop: settings.get(&NOTIFY_DESKTOP)?.value,
        min_age: settings.get(&NOTIFY_MIN_AGE)?.value,
        quiet: settings.get(&NOTIFY_QUIET)?.value,
    })
}

/// Notifies until the task is dropped; returns at once if no channel is set.
pub(crate) async fn run(app: Arc<App>, settings: NotifySettings, page: String) {
    let Some(notifier) = Notifier::start(settings, page, app.now()) else { return };
    if let Err(error) = follow(app, notifier).await {
        tracing::warn!(error = format!("{error:#}"), "notifications ended");
    }
}

async fn follow(app: Arc<App>, mut notifier: Notifier) -> anyhow::Result<()> {
    let mut of_runs = app.runs().follow_all(every_event).map_err(|fault| anyhow!(fault.detail))?;
    let mut of_work = app.work().follow_attention().map_err(|fault| anyhow!(fault.detail))?;
    let mut of_sessions = app.sessions().grown();
    loop {
        let looking = Arc::clone(&app);
        let looked = tokio::task::spawn_blocking(move || waiting(&looking)).await?;
        let due = match looked {
            Ok(items) => notifier.look(&items, app.now()),
            Err(error) => {
                tracing::debug!(error = format!("{error:#}"), "could not list what waits");
                None
            }
        };
        sleep(LOOK_PAUSE).await;
        let wait = due.unwrap_or(LOOK_INTERVAL).min(LOOK_INTERVAL);
        let news = async {
            tokio::select! {
                news = of_runs.next() => news.map(drop),
                news = of_work.next() => news.map(drop),
                _ = of_sessions.next() => Ok(()),
            }
        };
        if let Ok(news) = timeout(wait, news).await {
            news?;
        }
    }
}

fn every_event(_stream: &str, _event: &EventRow) -> Encoded {
    Encoded::NUMBER_ONLY
}

/// What waits now, in words.
fn waiting(app: &App) -> anyhow::Result<Vec<WaitingItem>> {
    let list =
        app.runs().attention(&AccessRights::default()).map_err(|fault| anyhow!(fault.detail))?;
    let waiting: Waiting = list.try_read()?;
    if !waiting.concerns_runs() {
        return Ok(waiting.lines(&[], &ListedRuns { runs: Vec::new() }));
    }
    let asked = ApprovalsRequest { run: None, answered: false, rights: AccessRights::default() };
    let approvals = app.runs().approvals(&asked).map_err(|fault| anyhow!(fault.detail))?;
    let approvals: ApprovalsAnswer = approvals.try_read()?;
    let approvals: Vec<Approval> =
        approvals.approvals.into_iter().map(|row| row.approval).collect();
    let named = RunsRequest {
        status: None,
        limit: RUNS_MAX,
        after: None,
        extent: Extent::Summary,
        workspaces: WorkspaceGlob::EVERYTHING,
    };
    let runs = app.runs().list(&named).map_err(|fault| anyhow!(fault.detail))?;
    Ok(waiting.lines(&approvals, &runs.try_read()?))
}
