//! The session bridge: sessions over HTTP, with and without the prefix `/v1` (HB-1).
//!
//! Handlers read a request, ask the application and write the answer; what a session does is
//! decided in the core. What is deliberately not here: the operations of the registry, which have
//! routes and errors of their own.

mod about;
mod commands;
mod ctrees;
mod events;
mod fault;
mod ingest;
mod request;

mod sessions;
mod todos;

use std::sync::Arc;

use axum::{
    Router,
    routing::{get, post},
};

use crate::site::Site;

/// All routes of the bridge.
pub(crate) fn routes() -> Router<Arc<Site>> {
    unprefixed().merge(Router::new().nest("/v1", unprefixed()))
}

fn unprefixed() -> Router<Arc<Site>> {
    Router::new()
        .route("/health", get(about::health))
        .route("/status", get(about::status))
        .route("/models", get(about::models))
        .route("/provider-auth/status", get(about::provider_status))
        .route("/provider-auth/attach", post(about::provider_refused))
        .route("/provider-auth/detach", post(about::provider_refused))
        .route("/sessions", get(sessions::list).post(sessions::create))
        .route("/sessions/{id}", get(sessions::show).delete(sessions::end))
        .route("/sessions/{id}/input", post(commands::input))
        .route("/sessions/{id}/command", post(commands::command))
        .route("/sessions/{id}/events", get(events::follow).post(ingest::record))
        .route("/sessions/{id}/ctrees", get(ctrees::summary))
        .route("/sessions/{id}/ctrees/tree", get(ctrees::tree))
        .route("/sessions/{id}/ctrees/compiled", get(ctrees::compiled))
        .route("/sessions/{id}/todos", get(todos::show))
        .route("/sessions/{id}/todos/history", get(todos::history))
}
