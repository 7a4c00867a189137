//! `/sessions/{id}/todos` and its history (HB-16).

use std::sync::Arc;

use axum::{extract::State, http::StatusCode};
use muster_core::{
    session::{limits::HISTORY_ENTRIES_MAX, view::TodoHistoryPage},
    todo::ScopeKey,
};

use super::request::{SessionPathId, SessionsQuery, SessionsResponse, ask, json as answer};
use crate::server_state::ServerState;

/// Entries of a history when no number is given.
const ENTRIES_DEFAULT: u32 = 50;

/// The todo lists, or the one asked for.
pub(super) async fn show(
    State(site): State<Arc<ServerState>>,
    SessionPathId(id): SessionPathId,
    parameters: SessionsQuery,
) -> SessionsResponse {
    let scope = parameters.text("scope").and_then(ScopeKey::of);
    let todos = ask(&site, move |app| app.sessions().todos(&id, scope.as_ref())).await?;
    Ok(answer(StatusCode::OK, &todos))
}

/// One list as it was after each revision, newest first.
pub(super) async fn history(
    State(site): State<Arc<ServerState>>,
    SessionPathId(id): SessionPathId,
    parameters: SessionsQuery,
) -> SessionsResponse {
    let limit = parameters.number("limit", 1, u64::from(HISTORY_ENTRIES_MAX))?;
    let before = parameters.number("before", 0, i64::MAX.unsigned_abs())?;
    let page = TodoHistoryPage {
        scope: parameters.text("scope").and_then(ScopeKey::of).unwrap_or_else(ScopeKey::main),
        limit: limit.and_then(|limit| u32::try_from(limit).ok()).unwrap_or(ENTRIES_DEFAULT),
        before: before.and_then(|before| i64::try_from(before).ok()),
    };
    let history = ask(&site, move |app| app.sessions().history(&id, &page)).await?;
    Ok(answer(StatusCode::OK, &history))
}
