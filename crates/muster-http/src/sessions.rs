//! The session bridge: sessions over HTTP, with and without the prefix `/v1` (HB-1).
//!
//! Handlers read a request, ask the application and write the answer; what a session does is
//! decided in the core. What is deliberately not here: the operations of the registry, which have
//! routes and errors of their own.

mod about;
mod commands;
mod ctrees;
mod driver;
mod event_types;
mod events;
mod fault;
mod ingest;
mod request;
mod sessions;
mod todos;

pub(crate) use commands::COMMANDS;
pub(crate) use driver::watch_leases;
pub(crate) use fault::SessionHttpFault;
pub(crate) use sessions::SESSIONS_MAX;

use std::sync::Arc;

use axum::Router;

use crate::{
    route::{self, Route, delete, get, post},
    server_state::ServerState,
};

/// All routes of the bridge.
pub(crate) fn routes() -> Router<Arc<ServerState>> {
    route::router(unprefixed()).merge(Router::new().nest("/v1", route::router(unprefixed())))
}

/// The routes without the prefix.
pub(crate) fn unprefixed() -> Vec<Route> {
    vec![
        get("/health", about::health),
        get("/status", about::status),
        get("/models", about::models),
        get("/provider-auth/status", about::provider_status),
        post("/provider-auth/attach", about::provider_refused),
        post("/provider-auth/detach", about::provider_refused),
        get("/sessions", sessions::list),
        post("/sessions", sessions::create),
        get("/sessions/{id}", sessions::show),
        delete("/sessions/{id}", sessions::end),
        post("/sessions/{id}/input", commands::input),
        post("/sessions/{id}/command", commands::command),
        post("/sessions/{id}/driver", driver::claim),
        delete("/sessions/{id}/driver", driver::release),
        get("/sessions/{id}/events", events::follow),
        post("/sessions/{id}/events", ingest::record),
        get("/sessions/{id}/ctrees", ctrees::summary),
        get("/sessions/{id}/ctrees/tree", ctrees::tree),
        get("/sessions/{id}/ctrees/compiled", ctrees::compiled),
        get("/sessions/{id}/ctrees/dropped", ctrees::dropped),
        get("/sessions/{id}/todos", todos::show),
        get("/sessions/{id}/todos/history", todos::history),
    ]
}
