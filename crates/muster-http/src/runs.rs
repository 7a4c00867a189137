//! Runs over HTTP: everything below `/api` that is not an operation, and the WebSocket.
//!
//! Handlers read a request, call the application and write the response; what a run does is decided
//! in the core. Errors are `{error, detail, path}` with codes in capitals (RUNS-REST-2).

mod agent;
mod approvals;
mod changes;
mod find;
mod graph;
mod history;
mod life;
mod net;
mod request;
mod shelf;
mod socket;

pub(crate) use request::{AskedRun, RunsReply, ask, tell, tell_writing};

use std::sync::Arc;

use axum::Router;
use muster_api::AccessRole;

use crate::{
    describe::SchemaSource,
    route::{self, OpenTo, Reach, Route, delete, get, patch, post, put},
    server_state::ServerState,
};

/// The router of all routes of runs.
pub(crate) fn routes() -> Router<Arc<ServerState>> {
    route::router(listed())
}

/// All routes of runs.
pub(crate) fn listed<S: SchemaSource>() -> Vec<Route<S>> {
    let parts = [life(), graph(), history(), approvals(), agents(), shelf()];
    parts.into_iter().flatten().map(within_workspaces).collect()
}

/// A token for some workspaces sees the runs that are bound to them and works with these. What sets
/// their workspace, directory or commands is for tokens of all workspaces, and so is what is about
/// more than runs.
fn within_workspaces<S>(route: Route<S>) -> Route<S> {
    match (route.open_to, route.method, route.path) {
        (OpenTo::KnownWithin, _, _) => route,
        (_, _, "/ws" | "/api/search") => route.reaching(Reach::RunInQuery),
        (_, _, path) if ["/api/runs", "/api/approvals"].iter().any(|it| path.starts_with(it)) => {
            route.reaching(Reach::Runs)
        }
        (_, "get", "/api/attention") => route.reaching(Reach::Runs),
        (_, _, _) => route,
    }
}

fn life<S: SchemaSource>() -> Vec<Route<S>> {
    vec![
        get("/api/health", "Show whether the server works", life::health).public(),
        get("/api/ready", "Show whether requests can be answered now", life::ready).public(),
        get("/api/runs", "List runs, newest change first", life::list),
        post("/api/runs", "Create a run", life::create).within_rights(),
        get("/api/runs/{run}", "Show a run", life::show),
        patch("/api/runs/{run}", "Change a run", life::edit).within_rights(),
        delete("/api/runs/{run}", "Delete a run", life::remove).of_person(),
        get(
            "/api/runs/{run}/end",
            "Show the outcome of a run: each line of done-when, checks, files, cost, what is open",
            life::ending,
        ),
        post("/api/runs/{run}/verify", "Run the checks of a run now", life::verify),
        post(
            "/api/runs/{run}/dismiss",
            "Dismiss the notice that the run was declared done and is not",
            life::dismiss,
        ),
    ]
}

fn graph<S: SchemaSource>() -> Vec<Route<S>> {
    vec![
        post("/api/runs/{run}/nodes", "Create a node", graph::create_node).within_rights(),
        patch("/api/runs/{run}/nodes/{node}", "Change a node", graph::edit_node).within_rights(),
        delete("/api/runs/{run}/nodes/{node}", "Delete a node", graph::delete_node),
        post("/api/runs/{run}/nodes/{node}/reset", "Clear a node's context", graph::reset),
        post("/api/runs/{run}/nodes/{node}/start", "Start a node again", graph::start),
        post("/api/runs/{run}/nodes/{node}/stop", "Stop a node and hold it", graph::stop),
        post(
            "/api/runs/{run}/nodes/{node}/interrupt",
            "Interrupt the current turn of a node",
            graph::interrupt,
        ),
        get(
            "/api/runs/{run}/nodes/{node}/inbox",
            "List the queued inputs of a node, and failed ones that wait for a person",
            graph::inbox,
        ),
        delete(
            "/api/runs/{run}/nodes/{node}/inbox/{item}",
            "Delete a queued or failed input",
            graph::cancel,
        ),
        post(
            "/api/runs/{run}/nodes/{node}/inbox/{item}/resend",
            "Send a failed input again",
            graph::resend,
        ),
        post(
            "/api/runs/{run}/edges",
            "Create an edge, or change the one with this id",
            graph::put_edge,
        ),
        delete("/api/runs/{run}/edges/{edge}", "Remove an edge", graph::delete_edge),
        post("/api/runs/{run}/chat", "Send a message to a node", graph::chat),
        get(
            "/api/runs/{run}/worktrees",
            "List the worktrees of a run, and what merging each would do",
            graph::worktrees,
        ),
        post(
            "/api/runs/{run}/nodes/{node}/merge",
            "Merge the worktree of a node into the checkout of its run",
            graph::merge,
        )
        .of_person(),
    ]
}

fn history<S: SchemaSource>() -> Vec<Route<S>> {
    vec![
        get("/api/runs/{run}/events", "Read events, forwards or backwards", history::events),
        get("/api/runs/{run}/turns", "List turns, newest first", history::turns),
        get("/api/runs/{run}/turns/{turn}", "Show a turn", history::turn),
        get(
            "/api/runs/{run}/changes",
            "List the files that a run has changed as a whole, against its start",
            net::changes,
        ),
        get("/api/runs/{run}/changes/patch", "Download these changes as a patch", net::patch),
        post("/api/runs/{run}/changes/branch", "Make a branch of the changes", net::branch)
            .of_person(),
        post(
            "/api/runs/{run}/changes/revert",
            "Put files back to what they were before the run; refused if that would lose more",
            net::revert,
        )
        .of_person(),
        get("/api/runs/{run}/artifacts", "List artifacts, newest first", history::artifacts),
        get(
            "/api/runs/{run}/artifacts/{artifact}",
            "Read a part of an artifact",
            history::artifact,
        ),
        get("/api/runs/{run}/artifacts/{artifact}/raw", "Download an artifact", history::raw),
        get("/ws", "Follow one run, or all, over a WebSocket", socket::open),
    ]
}

fn approvals<S: SchemaSource>() -> Vec<Route<S>> {
    vec![
        get("/api/approvals", "List approvals, oldest first", approvals::list),
        post("/api/approvals/{approval}/resolve", "Answer an approval", approvals::resolve)
            .of_person(),
        get(
            "/api/approvals/{approval}/file",
            "Read the file that an approval would overwrite",
            approvals::present_file,
        )
        .of_person(),
        get(
            "/api/approvals/{approval}/rule",
            "Show the rules that an approval could become",
            approvals::proposal,
        ),
        get("/api/allow-rules", "List what people always allow, oldest first", approvals::rules),
        delete("/api/allow-rules/{rule}", "Remove an allow rule", approvals::remove_rule)
            .of_person(),
        get(
            "/api/attention",
            "List what waits for a person in all runs and workspaces, oldest first",
            approvals::attention,
        ),
        get(
            "/api/search",
            "Search messages, artifacts and files in one run or all, newest first",
            history::search,
        ),
        get(
            "/api/find",
            "Find plans, tasks, steps, notes, sessions, runs, nodes, files and messages by words",
            find::find,
        )
        .reaching(Reach::Workspace),
        get(
            "/api/work/changes",
            "Follow the changes of a workspace, as server-sent events",
            changes::follow,
        )
        .reaching(Reach::Workspace),
    ]
}

fn agents<S: SchemaSource>() -> Vec<Route<S>> {
    vec![
        get("/api/agent/tools", "List the tools of a node, by its agent's token", agent::list)
            .of_nodes(),
        post(
            "/api/agent/tools/{tool}",
            "Call a tool for a node, by its agent's token",
            agent::call,
        )
        .of_nodes(),
        post(
            "/api/agent/reads/{tool}",
            "Call a reading tool for an agent's client, without a record in the run's log",
            agent::read,
        )
        .of_nodes(),
    ]
}

fn shelf<S: SchemaSource>() -> Vec<Route<S>> {
    vec![
        get("/api/templates", "List role templates", shelf::list),
        post("/api/templates", "Write a role template", shelf::create).of_owner(),
        get("/api/templates/{template}", "Show a role template", shelf::show),
        put("/api/templates/{template}", "Change a role template", shelf::change).of_owner(),
        delete(
            "/api/templates/{template}",
            "Remove the user's copy of a role template",
            shelf::remove,
        )
        .of_owner(),
        get("/api/providers", "List the programs that can drive a node", shelf::providers),
        get("/api/fs/list", "List folders that a run can work in", shelf::folders)
            .least(AccessRole::Member),
    ]
}
