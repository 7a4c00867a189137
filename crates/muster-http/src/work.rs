//! Work over HTTP, beside the operations: projects and what a person accepts of them, runs of
//! checks with their output, waivers, protected files.
//!
//! Errors have the form of those of runs.

mod attention;
mod checks;
mod decisions;

use std::sync::Arc;

use axum::Router;

use crate::{
    audit,
    describe::SchemaSource,
    route::{self, Reach, Route, get, post},
    server_state::ServerState,
};

/// The router of these routes.
pub(crate) fn routes() -> Router<Arc<ServerState>> {
    route::router(listed())
}

/// All of these routes.
pub(crate) fn listed<S: SchemaSource>() -> Vec<Route<S>> {
    vec![
        get("/api/audit", "Read who did what in the whole store, oldest first", audit::read)
            .of_owner(),
        get(
            "/api/projects",
            "List the projects that a person decided about, with what differs",
            decisions::projects,
        ),
        post(
            "/api/projects/decide",
            "Accept the definitions of a project file, or keep the accepted ones",
            decisions::decide,
        )
        .of_person(),
        post("/api/work/waivers", "Set a check aside, or take that back", decisions::waive)
            .of_person()
            .reaching(Reach::WorkspaceInBody),
        get(
            "/api/work/protected",
            "Show what changed in protected files since a person looked",
            decisions::protected,
        )
        .reaching(Reach::Workspace),
        post(
            "/api/work/reviews",
            "Record that a person has seen the protected files",
            decisions::review,
        )
        .of_person()
        .reaching(Reach::WorkspaceInBody),
        get(
            "/api/attention/changes",
            "Report when what waits for a person in the work may have changed, as server-sent \
             events",
            attention::follow,
        ),
        get("/api/work/checks", "List the newest runs of checks, newest first", checks::list)
            .reaching(Reach::Workspace),
        get("/api/work/checks/{run}", "Show a run of a check", checks::show)
            .reaching(Reach::Workspace),
        get(
            "/api/work/checks/{run}/output",
            "Read a piece of the output of a check, also while it runs",
            checks::output,
        )
        .reaching(Reach::Workspace),
        post("/api/work/checks/{run}/cancel", "End a check without a verdict", checks::cancel)
            .reaching(Reach::WorkspaceInBody),
    ]
}
