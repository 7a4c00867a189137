//! Requests about work that are not operations: projects and what a person accepts of them, runs of
//! checks, waivers, protected files, and what waits for a person. An agent has operations for its
//! part of this; the rest is for people.
//!
//! Errors are those of runs: `{error, detail, path}`.

pub(crate) mod attention;
mod check_runs;
mod fault;
mod projects;
mod protected;
pub mod request;
mod waiver;

pub use check_runs::{CheckOutput, CheckRunRow, CheckRunView, CheckRunsAnswer};
pub use projects::{
    AcceptedView, FoundDefinition, ProjectOverview, ProjectState, ProjectsAnswer, TouchView,
};
pub use protected::ProtectedView;

use crate::App;

/// The work of an application, as people look at it.
#[derive(Clone, Copy)]
pub struct WorkDesk<'a>(&'a App);

impl App {
    /// The work of the store.
    pub fn work(&self) -> WorkDesk<'_> {
        WorkDesk(self)
    }
}
