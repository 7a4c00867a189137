//! Approvals of all runs, and what else waits for a person.

use std::sync::Arc;

use axum::extract::State;
use muster_api::runs::{ApprovalsRequest, RunCode, request};
use muster_core::run::{approval::Verdict, command::CallFiles};

use super::request::{Asked, RunPathIds, RunsQuery, RunsResponse, ask, tell};
use crate::server_state::ServerState;

/// Lists approvals, oldest first.
pub(super) async fn list(
    State(site): State<Arc<ServerState>>,
    parameters: RunsQuery,
) -> RunsResponse {
    let answered = parameters.word("status", &["pending", "all"], |word| word)?;
    let request = ApprovalsRequest {
        run: parameters.id("runId", RunCode::UnknownRun)?,
        answered: answered == Some("all"),
    };
    tell(&site, move |app| app.runs().approvals(request)).await
}

/// Answers an approval.
pub(super) async fn resolve(
    State(site): State<Arc<ServerState>>,
    named: RunPathIds,
    asked: Asked,
) -> RunsResponse {
    let approval = named.approval()?;
    let resolution = request::resolution(asked.fields)?;
    let found = ask(&site, move |app| app.runs().run_of(approval, None)).await;
    let files = match (&found, site.app.driver()) {
        (Ok(run), Some(driver)) if resolution.0.status != Some(Verdict::Denied) => {
            driver.files_for_answer(*run, approval).await
        }
        (_, _) => CallFiles::default(),
    };
    tell(&site, move |app| app.runs().resolve(approval, resolution, files, asked.once)).await
}

/// Lists what waits for a person, oldest first.
pub(super) async fn attention(State(site): State<Arc<ServerState>>) -> RunsResponse {
    tell(&site, |app| app.runs().attention()).await
}
