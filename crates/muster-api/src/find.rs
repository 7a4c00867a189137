//! Finds plans, tasks, steps, notes, sessions, runs, nodes, files and messages by words, over
//! everything in the store.
//!
//! An index of strings gives candidates, newest first: where a field begins with the search, then
//! where words begin with its words, then wherever they are. What is found is read as it is now,
//! and graded. Each kind has a limit, candidates are limited, and so is the time: the response says
//! of which kinds there may be more.

mod by_id;
mod finder;
mod in_runs;
mod in_work;

use std::collections::BTreeSet;

use muster_core::{
    MatchGrade, SearchWords,
    run::{
        id::{ArtifactId, NodeId, RunId},
        view::search::HitKind,
    },
    tasks::id::{EntityId, PlanId, TaskId, WorkspaceId},
};
use muster_engine::log_index::StoreSearch;
use muster_store::StoreError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use self::finder::Finder;
use crate::App;

/// Defines the kinds with their names.
macro_rules! kinds {
    ($($(#[$doc:meta])* $kind:ident = $name:literal,)*) => {
        /// What was found.
        #[derive(
            Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize, JsonSchema,
        )]
        #[schemars(inline)]
        pub enum FoundKind {
            $($(#[$doc])* #[serde(rename = $name)] $kind,)*
        }

        impl FoundKind {
            /// All of them, in the order of results that match equally well.
            pub const ALL: &[Self] = &[$(Self::$kind,)*];

            /// The word in requests and results.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$kind => $name,)*
                }
            }
        }
    };
}

kinds! {
    Task = "task",
    Plan = "plan",
    Step = "step",
    Run = "run",
    /// A node of a run.
    Node = "node",
    Session = "session",
    Note = "note",
    /// A file that a turn changed, by its path.
    File = "file",
    /// A file that a run produced, by its name.
    Artifact = "artifact",
    /// A message, an answer, a thought or a handoff in a run.
    Message = "message",
}

/// The query, and where to look.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FindRequest {
    pub words: SearchWords,
    /// Only work of this workspace.
    pub workspace: Option<WorkspaceId>,
    /// Only what is in this run.
    pub run: Option<RunId>,
    /// Only these kinds; all of them if there are none.
    pub kinds: Vec<FoundKind>,
    /// Results of each kind, at most.
    pub limit: u32,
}

/// The results, the best first.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FindAnswer {
    /// The results. Equally good ones come by kind, then the newest first.
    pub hits: Vec<FoundItem>,
    /// Kinds of which there may be more.
    pub cut: BTreeSet<FoundKind>,
    /// Older events that could not be searched yet.
    pub unsearched: u64,
}

/// A result.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FoundItem {
    pub kind: FoundKind,
    /// Its id: of a step the path, of a file its path, of a note or message the number of its
    /// event.
    pub id: String,
    /// Its title or name; of a note or message the text around the match.
    pub title: String,
    /// How well it matches.
    pub matched: MatchGrade,
    /// The text around the match, if that is not in the title.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub excerpt: Option<String>,
    /// Its status, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    /// What a message is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub said: Option<HitKind>,
    pub place: FoundPlace,
}

/// Where a result is.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct FoundPlace {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workspace: Option<WorkspaceId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plan_id: Option<PlanId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plan_title: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_id: Option<TaskId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_title: Option<String>,
    /// Path of the step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_id: Option<RunId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node_id: Option<NodeId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node_label: Option<String>,
    /// The artifact; of a file, the diff that has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub artifact_id: Option<ArtifactId>,
    /// Number of the event in its run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seq: Option<u64>,
}

impl FoundPlace {
    /// The plan or task that it is in.
    pub fn entity(&self) -> Option<EntityId> {
        self.task_id.map(EntityId::from).or(self.plan_id.map(EntityId::from))
    }
}

impl App {
    /// Finds what contains all words of a search.
    pub fn find(&self, request: &FindRequest) -> Result<FindAnswer, StoreError> {
        let search = StoreSearch::begin(self.engine().store())?;
        Finder::new(search, request).answer()
    }
}
