//! The session bridge: sessions over HTTP, with and without the prefix `/v1` (HB-1).
//!
//! Handlers read a request, call the application and write the response; what a session does is
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
mod life;
mod request;
mod todos;

pub(crate) use driver::watch_leases;
pub(crate) use fault::SessionHttpFault;

use std::sync::Arc;

use axum::Router;

use muster_api::AccessRole;

use crate::{
    describe::SchemaSource,
    route::{self, Reach, Route, delete, get, post},
    server_state::ServerState,
};

/// All routes of the bridge.
pub(crate) fn routes() -> Router<Arc<ServerState>> {
    route::router(unprefixed()).merge(Router::new().nest("/v1", route::router(unprefixed())))
}

/// The routes without the prefix.
pub(crate) fn unprefixed<S: SchemaSource>() -> Vec<Route<S>> {
    let of_sessions = [sessions(), driver_and_events(), trees(), todos()].into_iter().flatten();
    let of_sessions = of_sessions.map(|route| match route.method {
        "get" => route.reaching(Reach::Sessions),
        // An agent works in the sessions that it makes.
        _ => route.least(AccessRole::Agent).reaching(Reach::Sessions),
    });
    about_server().into_iter().chain(of_sessions).collect()
}

fn about_server<S: SchemaSource>() -> Vec<Route<S>> {
    let not_kept = "The body is neither stored nor logged.";
    vec![
        get("/health", "Show whether the server works", about::health)
            .public()
            .about("Needs no token. Returns 503 with the same body when the store cannot be read."),
        get("/status", "Show the health and the number of sessions", about::status),
        get("/models", "List the models that sessions can use", about::models)
            .reaching(Reach::Checked),
        get(
            "/provider-auth/status",
            "List the server's provider keys: none",
            about::provider_status,
        ),
        post("/provider-auth/attach", "Refuse a provider key", about::provider_refused)
            .about(not_kept),
        post("/provider-auth/detach", "Refuse to drop a provider key", about::provider_refused)
            .about(not_kept),
    ]
}

fn sessions<S: SchemaSource>() -> Vec<Route<S>> {
    vec![
        get("/sessions", "List sessions, newest first", life::list).about(
            "All of them, unless parameters ask for less. When there are more than `limit`, the \
             header `X-Next-Cursor` has the `cursor` of the next page.",
        ),
        post("/sessions", "Create a session", life::create)
            .about("A task becomes the first input."),
        get("/sessions/{id}", "Show a session", life::show),
        delete("/sessions/{id}", "Delete a session with its events, lists and tree", life::end),
        post("/sessions/{id}/input", "Send an input", commands::input).about(
            "Starts a turn, or waits for the running one: `turn_id` is the turn that takes it. In \
             the session of a run's node it is a message to the node, whose next turn takes it: \
             `turn_id` is null, and the `user_message` follows `seq`. 409 when the run or the node \
             takes no more input.",
        ),
        post("/sessions/{id}/command", "Send a command", commands::command),
    ]
}

fn driver_and_events<S: SchemaSource>() -> Vec<Route<S>> {
    vec![
        post(
            "/sessions/{id}/driver",
            "Claim a session for a host, or renew the claim",
            driver::claim,
        )
        .about(
            "While the lease lasts, input waits as a `user_message` with `queued` until the host \
             reports `turn_start`. A later call of the same host renews the lease; 409 while \
             another host or a run drives the session. When the lease expires, waiting inputs \
             end with the reason `no_agent`.",
        ),
        delete("/sessions/{id}/driver", "Release a session", driver::release)
            .about("404 when no host drives it. Waiting inputs end with the reason `no_agent`."),
        get("/sessions/{id}/events", "Follow a session", events::follow)
            .about("409 `resume_window_exceeded`: the resume point does not exist."),
        post("/sessions/{id}/events", "Report an event", ingest::record).about(
            "Types that only the server writes are refused: `stream.*`, `ctree_*`, `session.*`, \
             `run_finished`. An `id` is recorded once. A `tool_call` needs `call_id`, `tool` and \
             `call`. Once a list had an update with its own revision, updates without one \
             are recorded but not applied.",
        ),
    ]
}

fn trees<S: SchemaSource>() -> Vec<Route<S>> {
    vec![
        get("/sessions/{id}/ctrees", "Show the summary of the C-Tree", ctrees::summary),
        get("/sessions/{id}/ctrees/tree", "List the nodes of the C-Tree", ctrees::tree),
        get("/sessions/{id}/ctrees/compiled", "Compile the C-Tree to text", ctrees::compiled).about(
            "The whole response has at most `max_chars` characters; up to 1,500 the text may have \
             1,000 of them. With `dropped_cursor` the nodes that were left out can be listed.",
        ),
        get("/sessions/{id}/ctrees/dropped", "List the nodes left out", ctrees::dropped).about(
            "What the compiled text leaves out, in the order of dropping: the text with the \
             cursor, else one of `max_chars` characters.",
        ),
    ]
}

fn todos<S: SchemaSource>() -> Vec<Route<S>> {
    vec![
        get("/sessions/{id}/todos", "Show the todo lists", todos::show),
        get("/sessions/{id}/todos/history", "List the revisions of a todo list", todos::history),
    ]
}
