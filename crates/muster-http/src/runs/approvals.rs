//! Approvals of all runs, and what else waits for a person.

use std::sync::Arc;

use axum::extract::State;
use muster_api::runs::{ApprovalsRequest, RunCode, request};

use super::request::{Answer, Asked, Named, Parameters, tell};
use crate::site::Site;

/// Lists approvals, oldest first.
pub(super) async fn list(State(site): State<Arc<Site>>, parameters: Parameters) -> Answer {
    let answered = parameters.word("status", &["pending", "all"], |word| word)?;
    let request = ApprovalsRequest {
        run: parameters.id("runId", RunCode::UnknownRun)?,
        answered: answered == Some("all"),
    };
    tell(&site, move |app| app.runs().approvals(request)).await
}

/// Answers an approval.
pub(super) async fn resolve(State(site): State<Arc<Site>>, named: Named, asked: Asked) -> Answer {
    let approval = named.approval()?;
    let resolution = request::resolution(asked.fields)?;
    tell(&site, move |app| app.runs().resolve(approval, resolution, asked.once)).await
}

/// Lists what waits for a person, oldest first.
pub(super) async fn attention(State(site): State<Arc<Site>>) -> Answer {
    tell(&site, |app| app.runs().attention()).await
}
