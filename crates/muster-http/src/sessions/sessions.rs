//! `/sessions` and `/sessions/{id}`: made, listed, shown and ended (HB-7, HB-8).

use std::{path::Path, sync::Arc};

use axum::{
    body::{Body, Bytes},
    extract::State,
    http::{HeaderMap, Response, StatusCode, Uri},
};
use muster_api::SessionsRequest;
use muster_core::session::{SessionCommand, command::Create, entity::SessionStatus};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{
    fault::SessionHttpFault,
    request::{SessionPathId, SessionsQuery, SessionsResponse, ask, json as answer, key, parse},
};
use crate::server_state::ServerState;

/// Sessions of a page at most.
pub(crate) const SESSIONS_MAX: u64 = 1_000;
/// How parameters that filter by metadata begin.
const METADATA: &str = "metadata.";
/// The header with the cursor of the next page.
pub(crate) const NEXT_CURSOR: &str = "x-next-cursor";

#[derive(Deserialize)]
struct CreateRequest {
    task: Option<String>,
    workspace: Option<String>,
    config_path: Option<String>,
    overrides: Option<Value>,
    metadata: Option<Map<String, Value>>,
    max_steps: Option<u64>,
    permission_mode: Option<String>,
    title: Option<String>,
    model: Option<String>,
    mode: Option<String>,
}

/// Makes a session.
pub(super) async fn create(
    State(site): State<Arc<ServerState>>,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> SessionsResponse {
    let request: CreateRequest = parse(&body)?;
    if let Some(folder) = request.workspace.as_deref().filter(|folder| !folder.is_empty())
        && !Path::new(folder).is_dir()
    {
        return Err(
            SessionHttpFault::invalid("workspace", format!("there is no folder {folder}")).into()
        );
    }
    let key = key(&headers, uri.path(), &body)?;
    let create = Create {
        title: request.title,
        task: request.task,
        workspace: request.workspace.filter(|folder| !folder.is_empty()),
        model: request.model,
        mode: request.mode,
        permission_mode: request.permission_mode,
        config_path: request.config_path,
        overrides: request.overrides,
        metadata: request.metadata,
        max_steps: request.max_steps,
        max_chars: site.app.ctree_max_chars(),
        driver: None,
        key,
    };
    let made = ask(&site, move |app| app.sessions().create(create)).await?;
    // Nothing drives a fresh session: even a first input has had its turn by now.
    let body = json!({
        "session_id": made.id,
        "status": SessionStatus::Idle,
        "created_at": made.created_at.rfc3339(),
        "logging_dir": null,
    });
    Ok(answer(StatusCode::OK, &body))
}

/// The sessions, newest first; all of them unless less is asked for.
pub(super) async fn list(
    State(site): State<Arc<ServerState>>,
    parameters: SessionsQuery,
) -> SessionsResponse {
    let request = wanted(&parameters)?;
    let page = ask(&site, move |app| app.sessions().list(&request)).await?;
    let mut response = answer(StatusCode::OK, &page.sessions);
    // The answer is an array, so what is not a session has no place in it.
    if let Some(next) = page.next.and_then(|next| next.to_string().parse().ok()) {
        response.headers_mut().insert(NEXT_CURSOR, next);
    }
    Ok(response)
}

fn wanted(parameters: &SessionsQuery) -> Result<SessionsRequest, SessionHttpFault> {
    let unknown_cursor =
        |_| SessionHttpFault::invalid("cursor", "it is not one that an earlier page gave");
    let unknown_status = || {
        let words = SessionStatus::ALL.map(SessionStatus::word).join(", ");
        SessionHttpFault::invalid("status", format!("one of {words} is needed"))
    };
    let mut metadata = Vec::new();
    for (key, value) in parameters.beginning(METADATA) {
        if key.is_empty() {
            return Err(SessionHttpFault::invalid(METADATA, "a key is needed: metadata.key=value"));
        }
        metadata.push((key.to_owned(), value.to_owned()));
    }
    let limit = parameters.number("limit", 1, SESSIONS_MAX)?;
    let status = parameters.text("status").map(|word| SessionStatus::of_word(word.trim()));
    Ok(SessionsRequest {
        status: status.map(|status| status.ok_or_else(unknown_status)).transpose()?,
        workspace: parameters.text("workspace").map(str::to_owned),
        metadata,
        behind: parameters.text("cursor").map(str::parse).transpose().map_err(unknown_cursor)?,
        limit: limit.and_then(|limit| u32::try_from(limit).ok()),
    })
}

/// One session.
pub(super) async fn show(
    State(site): State<Arc<ServerState>>,
    SessionPathId(id): SessionPathId,
) -> SessionsResponse {
    let session = ask(&site, move |app| app.sessions().show(&id)).await?;
    Ok(answer(StatusCode::OK, &session))
}

/// Deletes a session.
pub(super) async fn end(
    State(site): State<Arc<ServerState>>,
    SessionPathId(id): SessionPathId,
) -> SessionsResponse {
    ask(&site, move |app| app.sessions().perform(&id, SessionCommand::End)).await?;
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NO_CONTENT;
    Ok(response)
}
