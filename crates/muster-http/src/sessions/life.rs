//! `/sessions` and `/sessions/{id}`: create, list, show and end sessions (HB-7, HB-8).

use std::{path::Path, sync::Arc};

use axum::{Extension, extract::State};
use muster_api::{CallKey, SessionCursor, SessionsRequest};
use muster_core::{
    AnyObject,
    session::{
        SessionCommand, SessionId, command::Create, entity::SessionStatus, view::SessionObject,
    },
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{
    fault::SessionHttpFault,
    request::{SessionsReply, ask, tell},
};
use crate::{
    fault::Fault,
    guard::Requester,
    reply::{NoContent, Reply},
    request::{Asked, GivenParameter, Ids, Parameter, Params, WholeNumber, parameters, words},
    server_state::ServerState,
};

/// Largest page of sessions.
const SESSIONS_MAX: u64 = 1_000;
/// Prefix of parameters that filter by metadata.
const METADATA: &str = "metadata.";
/// The header with the cursor of the next page.
const NEXT_CURSOR: &str = "x-next-cursor";
#[derive(Deserialize, JsonSchema)]
#[schemars(inline)]
pub(super) struct NewSessionRequest {
    task: Option<String>,
    workspace: Option<String>,
    config_path: Option<String>,
    permission_mode: Option<String>,
    title: Option<String>,
    model: Option<String>,
    mode: Option<String>,
    /// Anything; it is stored as it is.
    overrides: Option<Value>,
    #[schemars(with = "Option<AnyObject>")]
    metadata: Option<Map<String, Value>>,
    max_steps: Option<u64>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "SessionMade")]
pub(super) struct CreateAnswer {
    session_id: SessionId,
    status: SessionStatus,
    #[schemars(extend("format" = "date-time"))]
    created_at: String,
    logging_dir: Option<String>,
}

/// Creates a session.
pub(super) async fn create(
    State(site): State<Arc<ServerState>>,
    Extension(requester): Extension<Requester>,
    asked: Asked<NewSessionRequest>,
) -> SessionsReply<CreateAnswer> {
    let request = asked.body;
    let made_by = requester.token().map(|token| token.name.clone());
    if let Some(folder) = request.workspace.as_deref().filter(|folder| !folder.is_empty())
        && !Path::new(folder).is_dir()
    {
        let detail = format!("the folder {folder} does not exist");
        return Err(SessionHttpFault::invalid("workspace", detail).into());
    }
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
        key: asked.once.map(|once| key_of(once, made_by.as_deref())),
        made_by,
        driver: None,
    };
    let made = ask(&site, move |app| app.sessions().create(create)).await?;
    Ok(Reply::of(&CreateAnswer {
        session_id: made.id,
        // Nothing drives a new session: even the turn of a first input is over by now.
        status: SessionStatus::Idle,
        created_at: made.created_at.rfc3339(),
        logging_dir: None,
    }))
}

/// The key decides the id of the session, so it is a key of this token alone: nobody gets a session
/// that was made with a guessed key of somebody else.
fn key_of(once: CallKey, token: Option<&str>) -> CallKey {
    match token {
        Some(name) => CallKey { key: format!("{name}:{}", once.key), ..once },
        None => once,
    }
}

words! { SessionStatus: SessionStatus::ALL, SessionStatus::word; }

/// Values that metadata must have, by key.
struct MetadataFilter(Vec<(String, String)>);

impl Parameter for MetadataFilter {
    fn read(given: &GivenParameter<'_>) -> Result<Self, Fault> {
        let mut wanted = Vec::new();
        for (name, value) in given.query {
            match name.strip_prefix(METADATA) {
                None => {}
                Some("") => {
                    let detail = "write it as metadata.key=value";
                    return Err(SessionHttpFault::invalid(METADATA, detail).into());
                }
                Some(key) => wanted.push((key.to_owned(), value.clone())),
            }
        }
        Ok(Self(wanted))
    }
}

parameters! {
    pub(super) struct SessionsQuery {
        /// At most this many sessions.
        "limit" limit: Option<WholeNumber<1, SESSIONS_MAX>>,
        /// `X-Next-Cursor` of the previous page.
        "cursor" cursor: Option<SessionCursor>,
        /// Only sessions with this status.
        "status" status: Option<SessionStatus>,
        /// Only sessions of this folder.
        "workspace" workspace: Option<String>,
        /// Only sessions whose metadata has this value under `key`, which may be any key.
        "metadata.key" metadata: MetadataFilter,
    }
}

/// The sessions, newest first; all of them unless restricted.
pub(super) async fn list(
    State(site): State<Arc<ServerState>>,
    Extension(requester): Extension<Requester>,
    Params(query): Params<SessionsQuery>,
) -> SessionsReply<Vec<SessionObject>> {
    let request = SessionsRequest {
        status: query.status,
        workspace: query.workspace,
        metadata: query.metadata.0,
        made_by: requester.rights().sessions_of,
        after: query.cursor,
        limit: query.limit.map(WholeNumber::rows),
    };
    let page = ask(&site, move |app| app.sessions().list(&request)).await?;
    let mut reply = Reply::of(&page.sessions);
    // The response is an array, so only sessions can be in it.
    if let Some(next) = page.next.and_then(|next| next.to_string().parse().ok()) {
        reply.headers_mut().insert(NEXT_CURSOR, next);
    }
    Ok(reply)
}

/// One session.
pub(super) async fn show(
    State(site): State<Arc<ServerState>>,
    Ids(id): Ids<SessionId>,
) -> SessionsReply<SessionObject> {
    tell(&site, move |app| app.sessions().show(&id)).await
}

/// Deletes a session.
pub(super) async fn end(
    State(site): State<Arc<ServerState>>,
    Ids(id): Ids<SessionId>,
) -> Result<NoContent, Fault> {
    ask(&site, move |app| app.sessions().perform(&id, SessionCommand::End)).await?;
    Ok(NoContent)
}
