//! `GET /api/audit`: who did what, for owners.

use std::sync::Arc;

use axum::extract::State;
use muster_api::{AuditAnswer, Json, LogCursor};

use crate::{
    request::{Params, RowLimit, parameters},
    runs::{RunsReply, tell},
    server_state::ServerState,
};

const ENTRIES_DEFAULT: u64 = 200;
const ENTRIES_MAX: u64 = 1_000;

parameters! {
    pub(crate) struct AuditQuery {
        /// `next` of the part before; from the beginning without it.
        "since" since: Option<LogCursor>,
        /// Entries at most.
        "limit" limit: RowLimit<ENTRIES_DEFAULT, ENTRIES_MAX>,
    }
}

/// Reads a part of the record, oldest first.
pub(crate) async fn read(
    State(site): State<Arc<ServerState>>,
    Params(query): Params<AuditQuery>,
) -> RunsReply<AuditAnswer> {
    let AuditQuery { since, limit } = query;
    tell(&site, move |app| Ok(Json::of(&app.audit(since.unwrap_or_default(), limit.rows())?))).await
}
