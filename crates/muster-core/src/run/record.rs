//! The run itself: its goal, its progress, and why it is where it is.
//!
//! Nodes, edges, artifacts and approvals are separate documents; a snapshot joins them.

pub(crate) mod command;
pub(crate) mod creation;
pub(crate) mod evolve;
pub(crate) mod life;
pub(crate) mod recovery;
mod words;

pub use words::{Declarer, GlobalMode, Mode, Phase, PhaseReason, RunStatus, StatusCode};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    id::{ArtifactId, NodeId, RunId, TurnId},
    moment::Moment,
    node::PermissionsMode,
    settings::{Budget, Check, Metric, RunSettings, Usage},
    shape::{is_default, patched, words},
};
use crate::tasks::id::{PlanId, TaskId};

/// Version of the contract that a run is kept under (RUNS-GEN-3).
pub const CONTRACT_VERSION: &str = "1";

/// Why a run has the status it has.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StatusReason {
    /// The case.
    pub code: StatusCode,
    /// A sentence for people.
    pub message: String,
    /// Since when.
    pub at: Moment,
    /// The node that caused it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node_id: Option<NodeId>,
    /// The limit that was reached.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<Spending>,
}

impl StatusReason {
    /// The plain case.
    pub fn plain(code: StatusCode, at: Moment) -> Self {
        Self { code, message: code.message().to_owned(), at, node_id: None, detail: None }
    }
}

/// A limit and what is used of it.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Spending {
    /// What is limited.
    pub metric: Metric,
    /// How much is used.
    pub used: f64,
    /// The limit.
    pub limit: f64,
}

/// Outcome of the last verification.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Verification {
    /// Whether every required check passed.
    pub ok: bool,
    /// When it ended.
    pub at: Moment,
    /// Its report.
    pub artifact_id: ArtifactId,
    /// What failed, as a hash; `None` when nothing did.
    pub failure_hash: Option<String>,
    /// How often this happened in a row.
    pub count: u32,
}

words! {
    /// What shows that a run goes in circles.
    StallRule {
        /// The same text.
        Output = "output",
        /// The same change.
        Diff = "diff",
        /// Two results that alternate.
        Oscillation = "oscillation",
        /// The same failing checks.
        Verification = "verification",
        /// An agent reported it.
        Reported = "reported",
        /// Two nodes hand tasks back and forth.
        Handoffs = "handoffs",
        /// No changed file and no passed check.
        NoProgress = "no_progress",
    }
}

/// How often each sign of a stall was seen.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct StallCounts {
    /// Equal outputs in a row.
    pub output: u32,
    /// Equal changes in a row.
    pub diff: u32,
    /// Equal failures of the checks in a row.
    pub verification: u32,
    /// Turns that alternate.
    pub oscillation: u32,
    /// Turns in which two nodes handed tasks back and forth.
    #[serde(default, skip_serializing_if = "is_default")]
    pub handoffs: u32,
    /// Turns without a changed file or a passed check.
    #[serde(default, skip_serializing_if = "is_default")]
    pub unproductive: u32,
}

/// What shows that a run goes in circles (RUNS-LOOP-4).
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Evidence")]
pub struct LoopEvidence {
    /// The rule.
    pub rule: StallRule,
    /// The node, if it is about one.
    pub node_id: Option<NodeId>,
    /// The turns, oldest first.
    pub turn_ids: Vec<TurnId>,
    /// Hash of the last text.
    pub output_hash: String,
    /// Hash of the last change, empty without one.
    pub diff_hash: String,
    /// Hash of the failing checks, empty without them.
    pub verification_failure: String,
    /// First lines of the last texts, oldest first.
    pub summaries: Vec<String>,
    /// How often each sign was seen.
    pub counts: StallCounts,
    /// The threshold in force.
    pub threshold: u32,
    /// What a person could do.
    pub suggestions: Vec<String>,
}

/// A stall that waits for a person.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Stall {
    /// Since when.
    pub at: Moment,
    /// The node, if it is about one.
    pub node_id: Option<NodeId>,
    /// The turn, if it is about one.
    pub turn_id: Option<TurnId>,
    /// What shows it.
    pub evidence: LoopEvidence,
}

/// A run declared done, from the declaration to the end.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Completion {
    /// Who declared it.
    pub by: Declarer,
    /// The orchestrator, if it was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node_id: Option<NodeId>,
    /// In the words of who declared it.
    pub summary: String,
    /// When.
    pub at: Moment,
    /// Whether VERIFY is wanted.
    pub verify: bool,
    /// Whether DOCS_SYNC is wanted.
    pub docs_sync: bool,
    /// Whether DOCS_SYNC has changed code and sent the run back to VERIFY.
    pub sent_back: bool,
    /// Whether a person sent a message since VERIFY began.
    pub new_input: bool,
    /// What the orchestrator says about lines of the definition of done.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub claims: Vec<DoneClaim>,
}

/// What an agent says about a line of the definition of done.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DoneClaim {
    /// The number of the line, counted from 1.
    pub line: u32,
    /// Whether it is met.
    pub met: bool,
    /// What shows it: a file, a test, a command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence: Option<String>,
}

/// A declaration that was refused, and that waits for a person (RUNS-DONE-2).
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RefusedCompletion {
    /// The orchestrator that declared the run done.
    pub node_id: NodeId,
    /// The turn in which it did.
    pub turn_id: TurnId,
    /// The rule that refused it.
    pub code: String,
    /// Why, in words.
    pub message: String,
    /// When.
    pub at: Moment,
}

patched! {
    /// A run.
    Run, RunPatch {
        /// Its id.
        id: RunId,
        /// Version of the contract that it is stored under.
        contract_version: String,
        /// Its name.
        name: String,
        /// What the user wants.
        goal: Option<String>,
        /// When it is done, line by line.
        definition_of_done: Vec<String>,
        /// Whether it works.
        status: RunStatus,
        /// Why.
        status_reason: Option<StatusReason>,
        /// What it works on.
        phase: Phase,
        /// Who keeps the orchestrator going.
        mode: Mode,
        /// Write access of the nodes.
        global_mode: GlobalMode,
        /// When it was created.
        created_at: Moment,
        /// When it last changed; served as the time of the newest event.
        updated_at: Moment,
        /// Its directory.
        cwd: String,
        /// Workspace of the task store that it is bound to.
        workspace: Option<String>,
        /// Plan that it is bound to.
        plan_id: Option<PlanId>,
        /// Task that it is bound to.
        task_id: Option<TaskId>,
        /// Verification commands.
        checks: Vec<Check>,
        /// Relative paths that count as documentation.
        docs_paths: Vec<String>,
        /// Settings in force.
        settings: RunSettings,
        /// Limits.
        budget: Budget,
        /// What it has used.
        usage: Usage,
        /// The oldest living orchestrator.
        root_node_id: Option<NodeId>,
        /// Last outcome of VERIFY.
        verification: Option<Verification>,
        /// The stall that waits for a person.
        stall: Option<Stall>,
        /// The declaration that the run is done.
        completion: Option<Completion>,
        /// The last declaration that was refused, until one is accepted or a person has seen it.
        refused_completion: Option<RefusedCompletion>,
        /// The node that has the documentation turn.
        #[schemars(skip)]
        docs_node_id: Option<NodeId>,
        /// Whether the goal was queued for the orchestrator (RUNS-AUTO-1).
        #[schemars(skip)]
        goal_delivered: bool,
        /// Whether BOOT shall start, or has started, automatically.
        #[schemars(skip)]
        auto_start: bool,
        /// Whether the checks are running.
        verifying: bool,
        /// Whether a turn has changed files.
        #[schemars(skip)]
        changed: bool,
        /// Turns in a row without a changed file or a passed check, for the brake.
        unproductive_turns: u32 = default,
        /// What providers of its nodes do unless a body says otherwise.
        #[schemars(skip)]
        permissions_mode: PermissionsMode,
        /// Limits that were already warned about: metric and level, per limit value.
        #[schemars(skip)]
        warned: Vec<Warned>,
    }
    hides {
        docs_node_id,
        goal_delivered,
        auto_start,
        changed,
        permissions_mode,
        warned,
    }
}

words! {
    /// How far a limit is used up.
    BudgetLevel {
        /// Four fifths.
        Warning = "warning",
        /// All of it.
        Exceeded = "exceeded",
    }
}

/// A limit that was warned about, so that it happens once per limit value.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Warned {
    /// What is limited.
    pub metric: Metric,
    /// The limit.
    pub limit: f64,
    /// How far it was used up.
    pub level: BudgetLevel,
}

impl Run {
    /// Whether turns may start at all (RUNS-SCH-1, RUNS-DONE-2).
    pub fn takes_turns(&self) -> bool {
        self.status == RunStatus::Running
            && match self.phase {
                Phase::Execute => self.completion.is_none(),
                Phase::DocsSync => true,
                Phase::Boot | Phase::Verify | Phase::Done => false,
            }
    }
}
