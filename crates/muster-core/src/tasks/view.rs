//! Read models of the tasks room: pure functions from documents to what callers see.
//!
//! A view is a struct of sections, and a section has its type and its builder in one file:
//! `target`, `radar`, `steps` with the first open step, `definition` and `gate` of a step,
//! `rollup`, `handoff`, `timeline`, `signals`, `memory`, `graph`, `capsule`. `overview` builds
//! those that all views of one plan or task share. Cutting to a budget happens afterwards, by the
//! lists in `shed/order`.

mod action;
pub mod attention;
pub mod brief;
pub mod capsule;
pub mod context;
pub mod definition;
pub mod delta;
pub mod empty;
pub mod evidence;
pub mod exported;
pub mod focus;
pub mod gate;
mod gather;
pub mod graph;
pub mod graph_page;
pub mod handoff;
mod lines;
pub mod lint;
pub mod memory;
pub mod mirror;
pub mod next_tasks;
mod notes;
pub mod overview;
pub mod page;
pub mod proof;
pub mod radar;
pub mod resume;
pub mod resume_super;
mod rollup;
pub mod shed;
pub mod signals;
pub mod step_object;
mod steps;
mod target;
pub mod timeline;

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use lines::ViewLine;
pub use rollup::Rollup;
pub use steps::{PlanSteps, StepsSummary, StepsView};
pub use target::TargetView;

use super::id::{EntityId, EntityKind};

/// Where the reasoning memory of a plan or task is; follows from the id alone.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ReasoningRef {
    /// Branch of the entity.
    pub branch: String,
    /// Document of notes.
    pub notes_doc: Cow<'static, str>,
    /// Document of the graph.
    pub graph_doc: Cow<'static, str>,
    /// Document of the trace.
    pub trace_doc: Cow<'static, str>,
}

impl ReasoningRef {
    /// The reference of an entity.
    pub fn of(id: EntityId) -> Self {
        Self {
            branch: format!("{}/{id}", id.kind().name()),
            notes_doc: "notes".into(),
            graph_doc: "graph".into(),
            trace_doc: "trace".into(),
        }
    }
}

/// A plan or task by name.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct EntityName {
    /// Its id.
    pub id: String,
    /// Plan or task.
    pub kind: EntityKind,
}

impl EntityName {
    fn of(id: EntityId) -> Self {
        Self { id: id.to_string(), kind: id.kind() }
    }
}

/// Which target the caller named.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Requested {
    /// The task, as given.
    pub task: Option<EntityId>,
    /// The plan, as given.
    pub plan: Option<EntityId>,
}

/// Share of `part` in `whole` in percent, rounded down; 0 of nothing (TASKS-VIEW-3).
fn percent(part: u64, whole: u64) -> u64 {
    (100 * part).checked_div(whole).unwrap_or(0)
}
