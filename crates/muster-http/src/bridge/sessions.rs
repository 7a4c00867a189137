//! `/sessions` and `/sessions/{id}`: made, listed, shown and ended (HB-7, HB-8).

use std::{path::Path, sync::Arc};

use axum::{
    body::{Body, Bytes},
    extract::State,
    http::{HeaderMap, Response, StatusCode, Uri},
};
use muster_core::session::{Command, command::Create};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{
    fault::Fault,
    request::{Answer, Named, ask, json as answer, key, parse},
};
use crate::site::Site;

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
    State(site): State<Arc<Site>>,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Answer {
    let request: CreateRequest = parse(&body)?;
    if let Some(folder) = request.workspace.as_deref().filter(|folder| !folder.is_empty())
        && !Path::new(folder).is_dir()
    {
        return Err(Fault::invalid("workspace", format!("there is no folder {folder}")).into());
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
    let made = ask(&site, move |app| {
        let id = app.sessions().create(create)?;
        app.sessions().show(&id)
    });
    let session = made.await?;
    let body = json!({
        "session_id": session.session_id, "status": session.status,
        "created_at": session.created_at, "logging_dir": session.logging_dir,
    });
    Ok(answer(StatusCode::OK, &body))
}

/// All sessions, newest first.
pub(super) async fn list(State(site): State<Arc<Site>>) -> Answer {
    let sessions = ask(&site, |app| app.sessions().list()).await?;
    Ok(answer(StatusCode::OK, &sessions))
}

/// One session.
pub(super) async fn show(State(site): State<Arc<Site>>, Named(id): Named) -> Answer {
    let session = ask(&site, move |app| app.sessions().show(&id)).await?;
    Ok(answer(StatusCode::OK, &session))
}

/// Deletes a session.
pub(super) async fn end(State(site): State<Arc<Site>>, Named(id): Named) -> Answer {
    ask(&site, move |app| app.sessions().perform(&id, Command::End)).await?;
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NO_CONTENT;
    Ok(response)
}
