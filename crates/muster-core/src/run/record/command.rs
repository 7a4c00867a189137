//! Requests about the run as a whole.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    run::{
        artifact::WrittenFile,
        command::GraphNodeInput,
        id::{CheckId, RunId},
        node::PermissionsMode,
        record::{GlobalMode, Mode},
        settings::{Budget, DocsSync, InteractiveWake, Isolation, RunSettings},
        shape::{given, words},
    },
    tasks::id::{PlanId, TaskId},
};

#[derive(Clone, PartialEq, Debug)]
pub struct CreateRun {
    /// Its id, which its stream bears.
    pub id: RunId,
    /// Its directory.
    pub cwd: String,
    /// The fields of the request.
    pub fields: RunFields,
    /// Who keeps the orchestrator going.
    pub mode: Option<Mode>,
    /// Write access of the nodes.
    pub global_mode: Option<GlobalMode>,
    /// Whether BOOT starts immediately.
    pub auto_start: bool,
    /// Its first nodes.
    pub nodes: Vec<GraphNodeInput>,
    /// The default of providers that the request does not configure.
    pub permissions_mode: PermissionsMode,
}

/// Fields of a run that a person may set; absent means unchanged, `Some(None)` clears.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct RunFields {
    /// Its name.
    pub name: Option<String>,
    /// What the user wants.
    #[serde(deserialize_with = "given")]
    pub goal: Option<Option<String>>,
    /// When it is done, line by line.
    pub definition_of_done: Option<Vec<String>>,
    /// Workspace that it is bound to.
    #[serde(deserialize_with = "given")]
    pub workspace: Option<Option<String>>,
    /// Plan that it is bound to.
    #[serde(deserialize_with = "given")]
    pub plan_id: Option<Option<PlanId>>,
    /// Task that it is bound to.
    #[serde(deserialize_with = "given")]
    pub task_id: Option<Option<TaskId>>,
    /// Verification commands.
    pub checks: Option<Vec<CheckInput>>,
    /// Paths that count as documentation.
    pub docs_paths: Option<Vec<String>>,
    /// Settings that change.
    pub settings: Option<SettingsPatch>,
    /// Limits.
    pub budget: Option<Budget>,
}

impl RunFields {
    /// Whether it changes the binding of the run.
    pub fn rebinds(&self) -> bool {
        self.workspace.is_some() || self.plan_id.is_some() || self.task_id.is_some()
    }
}

/// A verification command in a body.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CheckInput {
    /// The id it already has.
    #[serde(default)]
    pub id: Option<CheckId>,
    /// Its name.
    pub name: String,
    /// What runs.
    pub command: String,
    /// Where, relative to the run's directory.
    #[serde(default)]
    pub cwd: Option<String>,
    /// When it is killed.
    #[serde(default)]
    pub timeout_seconds: Option<u32>,
    /// Whether VERIFY fails with it.
    #[serde(default)]
    pub required: Option<bool>,
}

/// Defines the settings that a request may change, one optional field per setting.
macro_rules! settings_patch {
    ($($(#[$doc:meta])* $field:ident: $type:ty,)*) => {
        /// Settings that change; absent means unchanged.
        #[derive(Clone, PartialEq, Eq, Debug, Default, Deserialize, JsonSchema)]
        #[serde(rename_all = "camelCase", default)]
        pub struct SettingsPatch {
            $($(#[$doc])* #[serde(deserialize_with = "given")] pub $field: Option<$type>,)*
        }

        impl SettingsPatch {
            /// Sets what is given.
            pub fn apply(&self, settings: &mut RunSettings) {
                $(if let Some(value) = self.$field { settings.$field = value; })*
            }
        }
    };
}

settings_patch! {
    /// Equal turns that count as a stall.
    stall_threshold: u32,
    /// Turns without a result that make a stall; 0 turns the brake off, null is the default.
    brake_turns: Option<u32>,
    /// Turns at once; null lifts the run's own limit.
    max_parallel_turns: Option<u32>,
    /// Nodes of the run.
    max_nodes: u32,
    /// Least time between two AUTO prompts.
    auto_min_interval_ms: u32,
    /// What may start an orchestrator's turn in INTERACTIVE.
    interactive_wake: InteractiveWake,
    /// Whether DOCS_SYNC works.
    docs_sync: DocsSync,
    /// Where nodes work.
    isolation: Isolation,
    /// Silence that fails a turn.
    silence_seconds: u32,
    /// Silence that fails a turn while a tool is in flight.
    tool_silence_seconds: u32,
    /// Wall time that fails a turn; null means none.
    turn_max_seconds: Option<u32>,
    /// Automatic retries of a failed turn.
    retry_max: u32,
    /// How long a tool call waits for its approval.
    approval_hold_seconds: u32,
    /// Size of a context pack.
    context_max_chars: u32,
    /// Size of an effective prompt.
    prompt_max_chars: u32,
    /// Whether VERIFY stops at the first required failure.
    verify_fail_fast: bool,
    /// Whether complete_run is refused while the bound task is open.
    require_task_done: bool,
}

words! {
    /// The statuses that a person can set on a run.
    StatusWish {
        /// Not yet booted; a run cannot return to this.
        Queued = "queued",
        /// Work.
        Running = "running",
        /// Start nothing more.
        Paused = "paused",
        /// End what is in flight, and its processes.
        Stopped = "stopped",
        /// It is done.
        Completed = "completed",
        /// It was abandoned.
        Failed = "failed",
    }
}

/// A wish for another status.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SetStatus {
    pub to: StatusWish,
    /// Whether turns in flight end now.
    pub interrupt: bool,
    /// Of a completion: whether VERIFY is wanted.
    pub verify: bool,
    /// Of a completion: whether DOCS_SYNC is wanted.
    pub docs_sync: bool,
}

impl SetStatus {
    /// The plain wish.
    pub fn to(to: StatusWish) -> Self {
        Self { to, interrupt: false, verify: true, docs_sync: true }
    }
}

/// What the checks of the surroundings gave.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BootReport {
    /// Whether none of severity error failed.
    pub ok: bool,
    /// `boot.report.json`.
    pub report: WrittenFile,
}

/// What the verification commands gave.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct VerifyReport {
    /// Whether every required check passed.
    pub ok: bool,
    /// Names of required checks that failed.
    pub failed: Vec<String>,
    /// What failed, as a hash.
    pub failure_hash: Option<String>,
    /// `verify.report.json`.
    pub report: WrittenFile,
    /// Output of the checks.
    pub logs: Vec<WrittenFile>,
}
