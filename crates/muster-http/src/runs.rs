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
    let parts = [life(), graph(), history(), approvals(), agents(), shelf()];
    parts.into_iter().flatten().collect()
}

fn life() -> Vec<Route> {
    vec![
        get("/api/health", "Whether the server works", life::health).public(),
        get("/api/runs", "List runs, the newest change first", life::list),
        post("/api/runs", "Create a run", life::create).within_rights(),
        get("/api/runs/{run}", "Show a run", life::show),
        patch("/api/runs/{run}", "Change a run", life::edit).within_rights(),
        delete("/api/runs/{run}", "Delete a run", life::remove).of_person(),
        post("/api/runs/{run}/verify", "Run the checks of a run now", life::verify),
        post(
            "/api/runs/{run}/dismiss",
            "Put away that the run was declared done and is not",
            life::dismiss,
        ),
    ]
}

fn graph() -> Vec<Route> {
    vec![
        post("/api/runs/{run}/nodes", "Create a node", graph::create_node).within_rights(),
        patch("/api/runs/{run}/nodes/{node}", "Change a node", graph::edit_node).within_rights(),
        delete("/api/runs/{run}/nodes/{node}", "Delete a node", graph::delete_node),
        post("/api/runs/{run}/nodes/{node}/reset", "Clear a node's context", graph::reset),
        post("/api/runs/{run}/nodes/{node}/start", "Let a node go on", graph::start),
        post("/api/runs/{run}/nodes/{node}/stop", "End what a node does, and hold it", graph::stop),
        post(
            "/api/runs/{run}/nodes/{node}/interrupt",
            "End the turn that a node has in flight",
            graph::interrupt,
        ),
        get(
            "/api/runs/{run}/nodes/{node}/inbox",
            "Show the inputs of a node that are queued, or failed and wait for a person",
            graph::inbox,
        ),
        delete(
            "/api/runs/{run}/nodes/{node}/inbox/{item}",
            "Take a queued or failed input out again",
            graph::cancel,
        ),
        post(
            "/api/runs/{run}/nodes/{node}/inbox/{item}/resend",
            "Send an input again whose turns failed",
            graph::resend,
        ),
        post(
            "/api/runs/{run}/edges",
            "Make an edge, or change the one that has the id",
            graph::put_edge,
        ),
        delete("/api/runs/{run}/edges/{edge}", "Remove an edge", graph::delete_edge),
        post("/api/runs/{run}/chat", "Say something to a node", graph::chat),
    ]
}

fn history() -> Vec<Route> {
    vec![
        get("/api/runs/{run}/events", "Read events, both ways", history::events),
        get("/api/runs/{run}/turns", "List turns, the newest first", history::turns),
        get("/api/runs/{run}/turns/{turn}", "Show a turn", history::turn),
        get("/api/runs/{run}/artifacts", "List artifacts, the newest first", history::artifacts),
        get(
            "/api/runs/{run}/artifacts/{artifact}",
            "Read a piece of an artifact",
            history::artifact,
        ),
        get("/api/runs/{run}/artifacts/{artifact}/raw", "Take an artifact as it is", history::raw),
        get("/ws", "Follow a run, or all, over a WebSocket", socket::open),
    ]
}

fn approvals() -> Vec<Route> {
    vec![
        get("/api/approvals", "List approvals, oldest first", approvals::list),
        post("/api/approvals/{approval}/resolve", "Answer an approval", approvals::resolve)
            .of_person(),
        get(
            "/api/attention",
            "List what waits for a person in all runs, oldest first",
            approvals::attention,
        ),
        get(
            "/api/search",
            "Find words in what was said and made, in one run or all, the newest first",
            history::search,
        ),
        get(
            "/api/work/changes",
            "Hear of every change of a workspace, as server-sent events",
            changes::follow,
        ),
    ]
}

fn agents() -> Vec<Route> {
    vec![
        get("/api/agent/tools", "List the tools of a node, by the token of its agent", agent::list)
            .of_nodes(),
        post(
            "/api/agent/tools/{tool}",
            "Call a tool in the name of a node, by the token of its agent",
            agent::call,
        )
        .of_nodes(),
        post(
            "/api/agent/reads/{tool}",
            "Read by a tool for the client of an agent, without a trace in the run's log",
            agent::read,
        )
        .of_nodes(),
    ]
}

fn shelf() -> Vec<Route> {
    vec![
        get("/api/templates", "List role templates", shelf::list),
        post("/api/templates", "Write a role template", shelf::create).of_person(),
        get("/api/templates/{template}", "Show a role template", shelf::show),
        put("/api/templates/{template}", "Change a role template", shelf::change).of_person(),
        delete(
            "/api/templates/{template}",
            "Remove the user's copy of a role template",
            shelf::remove,
        )
        .of_person(),
        get("/api/providers", "List the programs that a node can be", shelf::providers),
        get("/api/fs/list", "List folders that a run can work in", shelf::folders),
    ]
}
