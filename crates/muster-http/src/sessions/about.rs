//! About the server itself: health, status, models, and the keys that it does not take.

use std::sync::Arc;

use axum::{
    body::Body,
    extract::State,
    http::{Response, StatusCode},
};
use muster_core::session::PROTOCOL_VERSION;
use serde_json::{Value, json};

use super::request::{SessionsResponse, ask, json as answer};
use crate::{health, server_state::ServerState};

/// `GET /health` (HB-5).
pub(super) async fn health(State(site): State<Arc<ServerState>>) -> Response<Body> {
    let (status, body) = health::examine(&site).await;
    answer(status, &identified(body, &site))
}

/// `GET /status` (HB-6).
pub(super) async fn status(State(site): State<Arc<ServerState>>) -> SessionsResponse {
    let sessions = ask(&site, |app| app.sessions().count()).await?;
    let (status, body) = health::examine(&site).await;
    let mut body = identified(body, &site);
    body["uptime_s"] = json!(site.started.elapsed().as_secs());
    body["sessions"] = json!(sessions);
    Ok(answer(status, &body))
}

fn identified(mut body: Value, site: &ServerState) -> Value {
    body["protocol_version"] = json!(PROTOCOL_VERSION);
    body["engine_version"] = json!(env!("CARGO_PKG_VERSION"));
    body["started_at"] = json!(site.started_at.rfc3339());
    body["started_at_unix"] = json!(site.started_at.0 / 1_000);
    body["pid"] = json!(std::process::id());
    body
}

/// `GET /models`: sessions that nobody drives have none.
pub(super) async fn models() -> Response<Body> {
    answer(StatusCode::OK, &json!({"models": [], "default_model": null}))
}

/// `GET /provider-auth/status`.
pub(super) async fn provider_status() -> Response<Body> {
    answer(StatusCode::OK, &json!({"attached": []}))
}

/// `POST /provider-auth/attach` and `detach`: the body is not looked at (HB-6, PF-40).
pub(super) async fn provider_refused() -> Response<Body> {
    let detail = "keys stay with the agent programs: sign in there, Muster takes none";
    answer(StatusCode::OK, &json!({"ok": false, "detail": detail}))
}
