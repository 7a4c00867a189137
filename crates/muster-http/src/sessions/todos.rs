//! `/sessions/{id}/todos` and its history (HB-16).

use std::sync::Arc;

use axum::extract::State;
use muster_core::{
    session::{
        SessionId,
        limits::HISTORY_ENTRIES_MAX,
        view::{SessionTodos, TodoHistory, TodoHistoryPage},
    },
    todo::ScopeKey,
};

use super::request::{SessionsReply, tell};
use crate::{
    request::{Ids, Params, WholeNumber, parameters},
    server_state::ServerState,
};

/// Default number of history entries.
const ENTRIES_DEFAULT: u32 = 50;

parameters! {
    pub(super) struct TodosQuery {
        /// Only this list.
        "scope" scope: Option<String>,
    }
}

/// The todo lists, or the one asked for.
pub(super) async fn show(
    State(site): State<Arc<ServerState>>,
    Ids(id): Ids<SessionId>,
    Params(query): Params<TodosQuery>,
) -> SessionsReply<SessionTodos> {
    let scope = query.scope.as_deref().and_then(ScopeKey::of);
    tell(&site, move |app| app.sessions().todos(&id, scope.as_ref())).await
}

parameters! {
    pub(super) struct HistoryQuery {
        /// Which list; `main` by default.
        "scope" scope: Option<String>,
        /// Number of entries.
        "limit" limit: Option<WholeNumber<1, { HISTORY_ENTRIES_MAX as u64 }>>,
        /// Only revisions below this one.
        "before" before: Option<WholeNumber<0, { i64::MAX.unsigned_abs() }>>,
    }
}

/// One list after each of its revisions, newest first.
pub(super) async fn history(
    State(site): State<Arc<ServerState>>,
    Ids(id): Ids<SessionId>,
    Params(query): Params<HistoryQuery>,
) -> SessionsReply<TodoHistory> {
    let scope = query.scope.as_deref().and_then(ScopeKey::of);
    let page = TodoHistoryPage {
        scope: scope.unwrap_or_else(ScopeKey::main),
        limit: query.limit.map_or(ENTRIES_DEFAULT, WholeNumber::rows),
        before: query.before.and_then(|before| i64::try_from(before.0).ok()),
    };
    tell(&site, move |app| app.sessions().history(&id, &page)).await
}
