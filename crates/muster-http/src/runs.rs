//! Runs over HTTP: everything below `/api` that is no operation, and the WebSocket.
//!
//! Handlers read a request, ask the application and write the answer; what a run does is decided in
//! the core. Errors are `{error, detail, path}` with codes in capitals (RUNS-REST-2).

mod agent;
mod approvals;
mod changes;
mod graph;
mod history;
mod life;
mod pieces;
mod request;
mod shelf;
mod socket;

use std::sync::Arc;

use axum::Router;

use crate::{
    route::{self, Route, delete, get, patch, post, put},
    server_state::ServerState,
};

/// The router of all routes of runs.
pub(crate) fn routes() -> Router<Arc<ServerState>> {
    route::router(listed())
}

/// All routes of runs.
pub(crate) fn listed() -> Vec<Route> {
    vec![
        get("/api/health", life::health),
        get("/api/runs", life::list),
        post("/api/runs", life::create).within_rights(),
        get("/api/runs/{run}", life::show),
        patch("/api/runs/{run}", life::edit).within_rights(),
        delete("/api/runs/{run}", life::remove).of_person(),
        post("/api/runs/{run}/verify", life::verify),
        post("/api/runs/{run}/dismiss", life::dismiss),
        get("/api/runs/{run}/events", history::events),
        get("/api/runs/{run}/turns", history::turns),
        get("/api/runs/{run}/turns/{turn}", history::turn),
        get("/api/runs/{run}/artifacts", history::artifacts),
        get("/api/runs/{run}/artifacts/{artifact}", history::artifact),
        get("/api/runs/{run}/artifacts/{artifact}/raw", history::raw),
        post("/api/runs/{run}/nodes", graph::create_node).within_rights(),
        patch("/api/runs/{run}/nodes/{node}", graph::edit_node).within_rights(),
        delete("/api/runs/{run}/nodes/{node}", graph::delete_node),
        post("/api/runs/{run}/nodes/{node}/reset", graph::reset),
        post("/api/runs/{run}/nodes/{node}/start", graph::start),
        post("/api/runs/{run}/nodes/{node}/stop", graph::stop),
        post("/api/runs/{run}/nodes/{node}/interrupt", graph::interrupt),
        get("/api/runs/{run}/nodes/{node}/inbox", graph::inbox),
        delete("/api/runs/{run}/nodes/{node}/inbox/{item}", graph::cancel),
        post("/api/runs/{run}/nodes/{node}/inbox/{item}/resend", graph::resend),
        post("/api/runs/{run}/edges", graph::put_edge),
        delete("/api/runs/{run}/edges/{edge}", graph::delete_edge),
        post("/api/runs/{run}/chat", graph::chat),
        get("/api/approvals", approvals::list),
        post("/api/approvals/{approval}/resolve", approvals::resolve).of_person(),
        get("/api/attention", approvals::attention),
        get("/api/search", history::search),
        get("/api/work/changes", changes::follow),
        get("/api/templates", shelf::list),
        post("/api/templates", shelf::create).of_person(),
        get("/api/templates/{template}", shelf::show),
        put("/api/templates/{template}", shelf::change).of_person(),
        delete("/api/templates/{template}", shelf::remove).of_person(),
        get("/api/providers", shelf::providers),
        get("/api/fs/list", shelf::folders),
        get("/api/agent/tools", agent::list),
        post("/api/agent/tools/{tool}", agent::call),
        post("/api/agent/reads/{tool}", agent::read),
        get("/ws", socket::open),
    ]
}
