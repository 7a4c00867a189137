//! Responses of the server about runs.

use muster_api::runs::answers::ApprovalsAnswer;
use muster_core::{
    Json,
    run::{approval::Approval, command::StatusWish, inbox::InboxItem, view::snapshot::RunSnapshot},
};
use serde::{Deserialize, Serialize};

use crate::client::Client;

#[derive(Deserialize)]
pub(crate) struct RunReply {
    pub(crate) run: RunSnapshot<'static>,
}

impl RunReply {
    /// A run without its files.
    pub(super) fn get(client: &Client, id: &str) -> anyhow::Result<RunSnapshot<'static>> {
        Ok(client.get::<Self>(&format!("/api/runs/{id}?artifacts=none"))?.run)
    }

    /// A run whose status was changed.
    pub(super) fn change(
        client: &Client,
        id: &str,
        status: StatusWish,
        interrupt: bool,
    ) -> anyhow::Result<RunSnapshot<'static>> {
        let change = StatusChange { patch: StatusPatch { status }, interrupt };
        Ok(client.patch::<Self>(&format!("/api/runs/{id}"), &change)?.run)
    }
}

#[derive(Serialize)]
struct StatusChange {
    patch: StatusPatch,
    interrupt: bool,
}

#[derive(Serialize)]
struct StatusPatch {
    status: StatusWish,
}

#[derive(Deserialize)]
pub(crate) struct ListedRuns {
    pub(crate) runs: Vec<RunSnapshot<'static>>,
}

#[derive(Deserialize)]
pub(super) struct EventsReply {
    /// Events as they were written: one of a newer server may be unknown here.
    pub(super) events: Vec<Json>,
}

/// Everything that waits for an answer.
pub(crate) fn pending_approvals(client: &Client) -> anyhow::Result<Vec<Approval>> {
    let answer: ApprovalsAnswer = client.get("/api/approvals")?;
    Ok(answer.approvals.into_iter().map(|row| row.approval).collect())
}

#[derive(Serialize, Deserialize)]
pub(super) struct InboxReply {
    pub(super) inbox: Vec<InboxItem>,
}
