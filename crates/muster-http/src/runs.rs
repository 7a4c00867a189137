//! Runs over HTTP: everything below `/api` that is no operation, and the WebSocket.
//!
//! Handlers read a request, ask the application and write the answer; what a run does is decided in
//! the core. Errors are `{error, detail, path}` with codes in capitals (RUNS-REST-2).

mod approvals;
mod graph;
mod history;
mod life;
mod pieces;
mod request;
mod shelf;
mod socket;

use std::sync::Arc;

use axum::{
    Router,
    routing::{delete, get, patch, post, put},
};

use crate::site::Site;

/// All routes of runs.
pub(crate) fn routes() -> Router<Arc<Site>> {
    Router::new()
        .route("/api/health", get(life::health))
        .route("/api/runs", get(life::list).post(life::create))
        .route("/api/runs/{run}", get(life::show).patch(life::edit).delete(life::remove))
        .route("/api/runs/{run}/verify", post(life::verify))
        .route("/api/runs/{run}/events", get(history::events))
        .route("/api/runs/{run}/turns", get(history::turns))
        .route("/api/runs/{run}/turns/{turn}", get(history::turn))
        .route("/api/runs/{run}/artifacts", get(history::artifacts))
        .route("/api/runs/{run}/artifacts/{artifact}", get(history::artifact))
        .route("/api/runs/{run}/artifacts/{artifact}/raw", get(history::raw))
        .route("/api/runs/{run}/nodes", post(graph::create_node))
        .route("/api/runs/{run}/nodes/{node}", patch(graph::edit_node).delete(graph::delete_node))
        .route("/api/runs/{run}/nodes/{node}/reset", post(graph::reset))
        .route("/api/runs/{run}/nodes/{node}/start", post(graph::start))
        .route("/api/runs/{run}/nodes/{node}/stop", post(graph::stop))
        .route("/api/runs/{run}/nodes/{node}/interrupt", post(graph::interrupt))
        .route("/api/runs/{run}/nodes/{node}/inbox", get(graph::inbox))
        .route("/api/runs/{run}/nodes/{node}/inbox/{item}", delete(graph::cancel))
        .route("/api/runs/{run}/edges", post(graph::put_edge))
        .route("/api/runs/{run}/edges/{edge}", delete(graph::delete_edge))
        .route("/api/runs/{run}/chat", post(graph::chat))
        .route("/api/approvals", get(approvals::list))
        .route("/api/approvals/{approval}/resolve", post(approvals::resolve))
        .route("/api/attention", get(approvals::attention))
        .route("/api/templates", get(shelf::list).post(shelf::create))
        .route("/api/templates/{name}", get(shelf::show).merge(shelf_changes()))
        .route("/api/fs/list", get(shelf::folders))
        .route("/api/providers", get(shelf::providers))
        .route("/ws", get(socket::open))
}

fn shelf_changes() -> axum::routing::MethodRouter<Arc<Site>> {
    put(shelf::change).delete(shelf::remove)
}
